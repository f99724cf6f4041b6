import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'

/** How long steps took, in milliseconds, in the order in which they were done. */
export type StepTime = { run_id: number; step: string; began_at: Date; ended_at: Date }

/** Notes that a step of a run is done: it began when the step before it ended. */
export async function noteStep(trx: Transaction<Schema>, runId: number, step: string): Promise<void> {
  await sql`
    insert into run_step (run_id, step, began_at, ended_at)
    select run_id, ${step}, coalesce((select max(ended_at) from run_step done where done.run_id = run.run_id),
      started_at),
           clock_timestamp()
    from run where run_id = ${runId}
    on conflict do nothing`.execute(trx)
}

/** The steps of a run that are done. */
export async function stepsDone(db: Database, runId: number): Promise<StepTime[]> {
  return await db.selectFrom('run_step').selectAll().where('run_id', '=', runId).orderBy('ended_at').execute()
}

/** The steps of the last runs of a job that went to their end and did all that the job does, newest first. */
export async function pastSteps(db: Database, job: string, runs: number): Promise<StepTime[]> {
  const { rows } = await sql<StepTime>`
    select run_id, step, began_at, ended_at
    from run_step join (
      select run_id from run
      where job = ${job} and verdict in ('succeeded', 'partial') and asked = '{}' and not held
      order by run_id desc limit ${runs}) past using (run_id)
    order by run_id desc, ended_at`.execute(db)
  return rows
}

/** How long the steps of each job took last. Milliseconds. */
export async function lastStepTimes(db: Database): Promise<{ job: string; step: string; ms: number }[]> {
  const { rows } = await sql<{ job: string; step: string; ms: number }>`
    select distinct on (job, run_step.step) job, run_step.step,
           (extract(epoch from ended_at - began_at) * 1000)::float8 as ms
    from run_step join run using (run_id)
    where run_id > (select coalesce(max(run_id), 0) - 1000 from run)
    order by job, run_step.step, run_id desc`.execute(db)
  return rows
}
