import { sql } from 'kysely'
import { counted } from '../../../counted.ts'
import type { Database } from '../../../db/database.ts'
import { isSendingRun, runsSpokenFor } from '../../../db/runs/spoken-for.ts'
import { apiKeyIdOf } from '../../../db/service-key/service-key.ts'
import type { Run, UnknownTasks } from '../../../db/tables/run-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { keyFingerprint } from '../../gate/shared-gate.ts'
import { kindNamesOf, searchKinds } from '../../streams/kind-names.ts'
import { requestOf } from '../kinds.ts'
import { ownersOf } from './listed-tasks.ts'

/** A task that comes sooner after the last request may be one of which the answer was lost. Milliseconds. */
const surelyLaterMs = 10 * 60_000

/**
 * Notes on a run which imports of our key the service lists that the ledger does not know, although they are later than
 * all that it has sent. A copy of the files of our database, or of its disk, that was put back is the same database by
 * all that the server tells of it: what the service took since shows it. Searches prove nothing, since verbs make some
 * as well. The imports of a conformance check with our key cannot be told from such: the words name it.
 *
 * Asked before a run sends anything, and once more where the server of our database is another than then: that may run
 * on a copy that was taken in the middle of the run. What the run sends from then on would hide what the copy lacks. A
 * list that cannot be read is left for the next run.
 * Specification: Task (bulk request), Authentication.
 */
export async function noteUnknownTasks(deps: Deps, { run_id }: Pick<Run, 'run_id'>): Promise<void> {
  const { db, logger } = deps
  if (await wereChecked(db, run_id)) return
  const noted = await unknownTasks(deps, run_id)
  await sql`
    update run
    set tasks_checked_under = pg_postmaster_start_time(),
        unknown_tasks = coalesce(${noted === null ? null : JSON.stringify(noted)}::jsonb, unknown_tasks)
    where run_id = ${run_id}`.execute(db)
  if (noted !== null) logger.warn({ run_id, ...noted }, 'unknown_tasks')
}

/** Whether a run has asked under the server that is there now. */
async function wereChecked(db: Database, runId: number): Promise<boolean> {
  const { rows } = await sql<{ checked: boolean }>`
    select tasks_checked_under is not distinct from pg_postmaster_start_time() as checked
    from run where run_id = ${runId}`.execute(db)
  return rows[0]?.checked ?? false
}

async function unknownTasks(
  { db, contract, exchange, logger, required }: Deps,
  runId: number,
): Promise<UnknownTasks | null> {
  const fingerprint = keyFingerprint(required.apiKey, required.baseUrl)
  const ours = await apiKeyIdOf(db, fingerprint)
  if (ours === null) return null
  let tasks: Task[]
  try {
    tasks = await exchange.getTasks()
  } catch (error) {
    logger.warn({ run_id: runId, error: (error as Error).message }, 'task_list_unreadable')
    return null
  }
  // Read after the list, which may be asked for again for a while: who sends meanwhile has compared before.
  const last = await lastAttempt(db, fingerprint)
  if (last === null) return null
  // By the service's clock, which may be ahead of ours.
  const since = last.getTime() + surelyLaterMs + Math.max(0, exchange.skew()?.highMs ?? 0)
  const later = tasks.filter(
    ({ apiKeyId, createdAt, ...task }) =>
      apiKeyId === ours && createdAt !== null && createdAt.getTime() > since && isImport(contract, task),
  )
  const unknown = await withoutKnown(db, later)
  const newest = unknown.toSorted((a, b) => Number(b.createdAt) - Number(a.createdAt))[0]
  if (newest === undefined) return null
  return {
    count: unknown.length,
    correlation_id: newest.correlationId,
    created_at: newest.createdAt?.toISOString() ?? '',
  }
}

/**
 * When an import was last sent to the destination in use, or to any with this key: the service lists by the key. A
 * search hides no import that the ledger lost.
 */
async function lastAttempt(db: Database, fingerprint: string): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    select max(attempted_at) as at from submission join run using (run_id)
    where (destination_id = destination_in_use() or key_fingerprint = ${fingerprint})
      and kind <> all(${searchKinds}::text[])`.execute(db)
  return rows[0]?.at ?? null
}

function isImport(contract: Contract, { requestType, taskKind }: Pick<Task, 'requestType' | 'taskKind'>): boolean {
  return kindNamesOf(contract).some((kind) => {
    const names = requestOf(contract, kind).taskName
    return names.requestType === '' ? taskKind === names.kind : requestType === names.requestType
  })
}

async function withoutKnown(db: Database, tasks: readonly Task[]): Promise<Task[]> {
  // One whose id PostgreSQL cannot store is not told of.
  const storable = tasks.filter(({ correlationId: id }) => !id.includes('\0') && id.isWellFormed())
  const owners = await ownersOf(
    db,
    storable.map(({ correlationId }) => correlationId),
  )
  const known = new Set(owners.map(({ correlation_id }) => correlation_id))
  return storable.filter(({ correlationId }) => !known.has(correlationId))
}

/**
 * For so long after a run noted imports that the ledger does not know, people know what a report has told them of them.
 * Counted from the note: once a run that failed has noted some, every later night comes after it.
 */
const rememberedDays = 30

/**
 * What a report says of them: something to look at the first time, and worth knowing from then on, as where another
 * program sends with the same key. A run that failed has told nobody, so the next report that speaks for it does; and a
 * run that sends rows says it for itself, whatever other jobs said before.
 */
export async function unknownTaskNews(db: Database, runId: number): Promise<{ remarks: string[]; notices: string[] }> {
  const { runIds } = await runsSpokenFor(db, runId)
  const { rows } = await sql<{ noted: UnknownTasks | null; before: boolean }>`
    select
      (select unknown_tasks from run noting
       where noting.run_id = any(${runIds}::bigint[]) and unknown_tasks is not null
       order by noting.run_id desc limit 1) as noted,
      exists (
        select from run noting join run told using (destination_id)
        where noting.unknown_tasks is not null and noting.destination_id = run.destination_id
          and told.state = 'finished' and told.run_id < run.run_id
          and noting.started_at > run.started_at - ${rememberedDays} * interval '1 day'
          and (told.run_id = noting.run_id
            or noting.state = 'failed' and noting.run_id < told.run_id and ${isSendingRun('told')})
          and (${isSendingRun('told')} or not ${isSendingRun('run')})) as before
    from run where run_id = ${runId}`.execute(db)
  const [found] = rows
  if (found === undefined || found.noted === null) return { remarks: [], notices: [] }
  const words = [unknownTaskWords(found.noted)]
  return found.before ? { remarks: [], notices: words } : { remarks: words, notices: [] }
}

function unknownTaskWords({ count, correlation_id, created_at }: UnknownTasks): string {
  const imports = counted(count, 'import')
  return `The service has ${imports} of this API key that the ledger does not know and that came after all it had sent, the newest at ${created_at.slice(0, 16).replace('T', ' ')} UTC (task ${correlation_id}). If a copy of the files or of the disk of Nightferry's database was put back, the ledger does not know what was sent since: nightferry resend --all --beyond-guard sends everything again with the next run. If another program sends with this key, as nightferry conformance may, give it a key of its own.`
}
