import { sql } from 'kysely'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Database } from '../../db/database.ts'
import { plansOf } from '../../db/guard/guard-plan.ts'
import type { Requires } from '../../db/ledger/requirements.ts'
import { type RowState, rowState } from '../../db/ledger/row-state.ts'
import { type ListedRow, rowsInState } from '../../db/ledger/rows-in-state.ts'
import { adoptUnfinished, insertRun, runInTheWay } from '../../db/runs/run-life.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import { HttpError, TransportError } from '../../exchange/errors.ts'
import { extract } from '../delta/extract.ts'
import type { Deps, Looks } from '../deps.ts'
import { checkDestination } from '../destination/check-destination.ts'
import { resendPolicies } from '../preflight/judgements.ts'
import { preflight } from '../preflight/preflight.ts'
import { planWave } from '../push/waves/plan-wave.ts'
import { fetchReferenceData } from '../reference/fetch-reference-data.ts'
import type { HeldStream } from '../report/report.ts'
import { searchKinds } from '../streams/kind-names.ts'
import {
  type PlannedBody,
  type PlannedRequest,
  type PlannedRow,
  plannedBodies,
  plannedRequests,
  plannedRows,
  rememberRejected,
  supposeAccepted,
} from './planned-requests.ts'
import { withShadow } from './with-shadow.ts'

type PlanOptions = {
  /** The job whose run is planned. */
  job: string
  /** Judge by the reference data of the last run, without asking the service. */
  cached: boolean
  /** Bodies to write, the first of each kind before others. */
  bodies: number
  /** Rows to list at most: of those that would be sent, and of each state that is not sent. */
  rows: number
}

export type PlannedWave = { wave: number; requests: PlannedRequest[] }

/** What a run would do, if the service took everything that is sent. */
export type RunPlan = {
  planned_at: Date
  /** A run that is under way: what it holds is left to it. */
  running: Pick<Run, 'run_id' | 'step'> | null
  reference: PlannedReference
  /** What else a reader has to know of it, as sentences. */
  remarks: string[]
  streams: StreamRead[]
  /** What the guard would stop the run over: it would send nothing. Empty where it would not. */
  held: HeldStream[]
  waves: PlannedWave[]
  /** Rows that would still not be sent, by stream and state. */
  unsent: StateCount[]
  invalid: ListedRow[]
  parked: ListedRow[]
  rejected: ListedRow[]
  rows: PlannedRow[]
  /** Of which lists there are more rows than were wanted. */
  more: Record<'invalid' | 'parked' | 'rejected' | 'rows', boolean>
  bodies: PlannedBody[]
}

const newKey =
  'The API key is new to this ledger, and the service was not asked whose it is. A run asks, and sends this only if the key acts as the same profile.'

/** Nobody looks at what is only planned. */
const noLooks: Looks = { atRun: async () => {}, atSubmissions: async () => {}, atPages: async () => {} }

/**
 * Says what a run would send now, and why, and sends nothing. The stages of a run do their work on temporary copies of
 * the ledger, and read the partner's database through a snapshot of their own. Each wave is supposed to be accepted, so
 * that the rows which wait for it can be planned; a run may learn otherwise.
 */
export async function planRun(deps: Omit<Deps, 'looks'>, options: PlanOptions): Promise<RunPlan> {
  return await withShadow(deps.pool, async (shadow) => {
    const shadowed: Deps = { ...deps, ...shadow, looks: noLooks }
    const { unaskedKey } = await checkDestination(shadowed, options.cached ? 'leave' : 'ask')
    const running = (await runInTheWay(shadow.db, options.job)) ?? null
    const run = await beginRun(shadowed, options.job, running)
    const reference = await planReference(shadowed, options.cached)
    await extract(shadowed, run, { ahead: false })
    await rememberRejected(shadow.db)
    await preflight(shadowed, run)
    const streams = await streamsRead(shadow.db, run.run_id)
    const held = await plansOf(shadow.db, run.run_id)
    const { rows, ...sent } = await planWaves(shadowed, { ...run, held: held.length > 0 }, options)

    const requires = requirementsOf(deps.config)
    const policies = resendPolicies(deps.config, deps.contract)
    const listed = (state: 'invalid' | 'parked' | 'rejected') =>
      rowsInState(shadow.db, state, { requires, policies, limit: options.rows + 1 })
    const lists = {
      invalid: await listed('invalid'),
      parked: await listed('parked'),
      rejected: await listed('rejected'),
      rows,
    }
    const states = await countStates(shadow.db, requires)
    return {
      planned_at: deps.now(),
      running: running === null ? null : { run_id: running.run_id, step: running.step },
      reference,
      remarks: unaskedKey ? [newKey] : [],
      streams,
      held,
      ...sent,
      // Nothing of what is gone waits to be sent.
      unsent: states.filter(({ state }) => state !== 'accepted' && state !== 'gone'),
      ...cutLists(lists, options.rows),
    }
  })
}

type Lists = Pick<RunPlan, 'invalid' | 'parked' | 'rejected' | 'rows'>

/** Each list was read with one row beyond the limit, which says whether there are more. Pure. */
function cutLists({ invalid, parked, rejected, rows }: Lists, limit: number): Lists & Pick<RunPlan, 'more'> {
  const isCut = (list: readonly unknown[]) => list.length > limit
  return {
    invalid: invalid.slice(0, limit),
    parked: parked.slice(0, limit),
    rejected: rejected.slice(0, limit),
    rows: rows.slice(0, limit),
    more: { invalid: isCut(invalid), parked: isCut(parked), rejected: isCut(rejected), rows: isCut(rows) },
  }
}

/** A run of the shadow. It takes over what runs before it left, unless one of them is still at work. */
async function beginRun({ db, now }: Deps, job: string, running: Run | null): Promise<Run> {
  return await db.transaction().execute(async (trx) => {
    if (running !== null) {
      await trx.updateTable('run').set({ state: 'failed' }).where('run_id', '=', running.run_id).execute()
    }
    const run = await insertRun(trx, { job, trigger: 'cli', scheduledFor: now(), firstStep: 'extract' })
    if (run === null) throw new Error('a run of this very moment exists already')
    if (running === null) await adoptUnfinished(trx, run.run_id, searchKinds)
    return run
  })
}

async function planWaves(
  deps: Deps,
  run: Run,
  options: PlanOptions,
): Promise<Pick<RunPlan, 'waves' | 'rows' | 'bodies'>> {
  const waves: PlannedWave[] = []
  const rows: PlannedRow[] = []
  const bodies: PlannedBody[] = []
  for (;;) {
    // All that is ready at once: nothing ends here, so nothing would make room for more.
    await planWave(deps, run, { inFlightPerKind: Number.MAX_SAFE_INTEGER })
    const requests = await plannedRequests(deps.db, run.run_id)
    if (requests.length === 0) return { waves, rows, bodies }
    waves.push({ wave: waves.length + 1, requests })
    rows.push(...(await plannedRows(deps.db, run.run_id, options.rows + 1 - rows.length)))
    bodies.push(...(await plannedBodies(deps, requests, bodies, options.bodies)))
    await deps.db.transaction().execute((trx) => supposeAccepted(trx, run.run_id))
  }
}

/** What rows were judged against. */
type PlannedReference = {
  /** `none`: nothing was ever fetched, so that little can be judged. */
  source: 'fetched' | 'cached' | 'none'
  /** When the oldest document was fetched. */
  fetched_at: Date | null
  /** Why it was not fetched; null where nobody wanted it to be. */
  why_not_fetched: string | null
}

/**
 * Fetches the reference data as a run would, into the plan's own tables, or takes what the last run stored: when asked
 * to, or when the service does not answer.
 * @throws {StopRun} when a run would stop over them.
 * @throws {HttpError} when the service does not know the key, which would stop a run too.
 */
export async function planReference(deps: Deps, cached: boolean): Promise<PlannedReference> {
  if (cached) return await stored(deps, null)
  try {
    await fetchReferenceData(deps)
    return { source: 'fetched', fetched_at: deps.now(), why_not_fetched: null }
  } catch (error) {
    const passing = error instanceof TransportError || (error instanceof HttpError && error.status >= 429)
    if (!passing) throw error
    return await stored(deps, error.message)
  }
}

async function stored({ db }: Deps, why: string | null): Promise<PlannedReference> {
  const oldest = await db
    .selectFrom('reference_data')
    .select('fetched_at')
    .orderBy('fetched_at')
    .limit(1)
    .executeTakeFirst()
  if (oldest === undefined) return { source: 'none', fetched_at: null, why_not_fetched: why }
  return { source: 'cached', fetched_at: oldest.fetched_at, why_not_fetched: why }
}

type StateCount = { stream: string; state: RowState; rows: number }

/** How many rows of each stream are in which state. */
async function countStates(db: Database, requires: Requires): Promise<StateCount[]> {
  const { rows } = await sql<StateCount>`
    select stream, state, count(*) as rows
    from (select row.stream, ${rowState(requires)} as state from ledger row) stated
    group by stream, state
    order by stream, state`.execute(db)
  return rows
}

type StreamRead = {
  stream: string
  read: number
  folded: number
  unchanged: number
  changed: number
  null_cursor: number
  gone: number
  returned: number
  pending: number
}

/** What a run has read, stream by stream. */
async function streamsRead(db: Database, runId: number): Promise<StreamRead[]> {
  return await db
    .selectFrom('run_stream')
    .select(['stream', 'read', 'folded', 'unchanged', 'changed', 'null_cursor', 'gone', 'returned'])
    .select((eb) => eb.fn.coalesce('pending', eb.lit(0)).as('pending'))
    .where('run_id', '=', runId)
    .orderBy('extracted_at')
    .execute()
}
