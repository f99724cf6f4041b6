import { type RawBuilder, sql, type Transaction } from 'kysely'
import { type Actor, recordAction } from '../actions/record-action.ts'
import type { Database } from '../database.ts'
import { isConfigured, type Requires } from '../ledger/requirements.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { GuardExample, GuardPlan, GuardPlanTable } from '../tables/run-tables.ts'

/**
 * Ledger rows of a stream that are not gone. Those that wait for approval because they are new are not known yet.
 * @param enough where to stop counting; null: count all.
 */
export async function livingRows(
  trx: Transaction<Schema>,
  stream: string,
  enough: number | null = null,
): Promise<number> {
  const { rows } = await sql<{ living: number }>`
    select count(*) as living
    from (
      select from source_row
      where stream = ${stream} and gone_at is null and guard_change is distinct from 'new'
      limit ${enough}
    ) living_row`.execute(trx)
  return rows[0]?.living ?? 0
}

/** Whether the ledger knows any row of a stream that is not gone. */
export async function anyLivingRow(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (select from source_row where stream = ${stream} and gone_at is null) as any`.execute(trx)
  return rows[0]?.any ?? false
}

/**
 * Locks the plans of a stream that wait and puts them aside: this run judges the stream again. Anyone who approves one
 * of them meanwhile comes before or after, never in between.
 */
export async function supersedePlans(trx: Transaction<Schema>, stream: string): Promise<void> {
  await trx
    .updateTable('guard_plan')
    .set({ state: 'superseded' })
    .where('stream', '=', stream)
    .where('state', '=', 'waiting')
    .execute()
}

type NewPlan = Pick<GuardPlanTable, 'run_id' | 'stream' | 'reason' | 'known' | 'new' | 'changed' | 'gone'>

/** Leaves a plan to approve, and notes that the run is held: it sends nothing, whatever happens to the plan. */
export async function leavePlan(trx: Transaction<Schema>, plan: NewPlan, examples: GuardExample[]): Promise<void> {
  await trx
    .insertInto('guard_plan')
    .values({ ...plan, examples: JSON.stringify(examples), state: 'waiting' })
    .execute()
  await trx.updateTable('run').set({ held: true }).where('run_id', '=', plan.run_id).execute()
}

/** The plans that a run left, by stream. */
export async function plansOf(db: Database, runId: number): Promise<GuardPlan[]> {
  return await db.selectFrom('guard_plan').selectAll().where('run_id', '=', runId).orderBy('stream').execute()
}

/**
 * The plans that wait for a person, those of the newest run first. A run that reads a stream again puts aside that
 * stream's plan alone, so that they can be of several runs, and of any job. One of a stream that is not in the
 * configuration waits for nobody: no run would send what it lets through.
 */
export async function waitingPlans(db: Database, requires: Requires): Promise<NewPlan[]> {
  return await db
    .selectFrom('guard_plan')
    .select(['run_id', 'stream', 'reason', 'known', 'new', 'changed', 'gone'])
    .where('state', '=', 'waiting')
    .where(isConfigured(requires, sql`stream`))
    .orderBy('run_id', 'desc')
    .orderBy('stream')
    .execute()
}

/**
 * Lets the rows of a run's plans through, as far as they still wait: the next run sends them. What they found gone
 * gets its tombstone. Who did so is written down among the actions.
 * @returns the plans that this call approved.
 */
export async function approvePlans(
  trx: Transaction<Schema>,
  runId: number,
  actor: Actor,
  at: Date,
): Promise<GuardPlan[]> {
  const approved = await trx
    .updateTable('guard_plan')
    .set({ state: 'approved', approved_at: at, approved_by: actor.user })
    .where('run_id', '=', runId)
    .where('state', '=', 'waiting')
    .returningAll()
    .execute()
  const streams = approved.map(({ stream }) => stream)
  await sql`
    update source_row
    set gone_at = case when guard_change = 'gone' then ${at} else gone_at end, guard_run = null, guard_change = null
    where guard_run = ${runId} and stream = any(${streams}::text[])`.execute(trx)
  if (approved.length > 0) {
    const rows = approved.reduce((sum, plan) => sum + plan.new + plan.changed + plan.gone, 0)
    await recordAction(trx, { verb: 'approve', actor, at, rows, asked: { run: String(runId) }, result: 'approved' })
  }
  return approved.toSorted((a, b) => a.stream.localeCompare(b.stream))
}

/**
 * The newest run that read anything, if the guard stopped it and nobody has approved that yet: nothing that is pending
 * was sent by it, also rows that the guard has nothing against. Null otherwise. It depends on no row, so that a query
 * asks it once.
 */
export const heldRun = (requires: Requires): RawBuilder<number | null> => sql<number | null>`(
  select newest.run_id from (
    select run_id, held from run
    where held or exists (select from run_stream where run_stream.run_id = run.run_id)
    order by run_id desc limit 1
  ) newest
  where newest.held
    and exists (
      select from guard_plan
      where guard_plan.run_id = newest.run_id and guard_plan.state = 'waiting'
        and ${isConfigured(requires, sql`guard_plan.stream`)}))`

/**
 * The numbers of rows that get their tombstone once a person approves, as an array: held by the guard, and as a rule
 * accepted as they are, so that no query of pending rows finds them.
 */
export const heldAsGone: RawBuilder<number[]> = sql<number[]>`array(
  select row_id from source_row where guard_run is not null and guard_change = 'gone')`

/**
 * Whether the guard lets a run send nothing: it stopped the run itself, or the newest that read anything, whose plan
 * waits for a person. A run that reads is the newest of these, so that the other case is one that only sends.
 */
export async function isHeld(db: Database, run: { held: boolean }, requires: Requires): Promise<boolean> {
  return run.held || (await findHeldRun(db, requires)) !== null
}

/** The run of `heldRun`, by itself. */
export async function findHeldRun(db: Database, requires: Requires): Promise<number | null> {
  const { rows } = await sql<{ run_id: number | null }>`select ${heldRun(requires)} as run_id`.execute(db)
  return rows[0]?.run_id ?? null
}
