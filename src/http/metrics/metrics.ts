import { setTimeout as delay } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../../db/database.ts'
import type { Job } from '../../jobs/job.ts'
import { jobsOf } from '../../jobs/known-jobs.ts'
import type { Deps } from '../../pipeline/deps.ts'
import { searchKind } from '../../pipeline/streams/kind-names.ts'
import { AnswerCache } from '../answer-cache.ts'
import { countBacklog } from '../count-backlog.ts'
import { isDatabaseAway } from '../problem.ts'
import { type Backlog, type Measured, measure, measureBacklog } from './measure.ts'

/** For so long what was measured in the database is shown again: scrapes of several servers ask once. Milliseconds. */
const keptMs = 10_000

/** How long a scrape waits until rows are counted; those of the last time are shown until then. Milliseconds. */
const backlogPatienceMs = 5_000

/** Bounds of the time that a call of the service takes. Seconds. */
const callBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Gauges of the library that are named like counters. They are the sums over the types of the gauges beside them. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/**
 * The label that has the job of a run. Prometheus calls what it reads a `job`, and would store a label of ours by that
 * name as `exported_job` unless `honor_labels` is set where it scrapes.
 */
const ofJob = 'run_job'

/** Metrics as text, in the format that `contentType` names. */
export type Metrics = { contentType: string; text(): Promise<string> }

type MakeGauge = (name: string, help: string, labelNames?: string[]) => Gauge

/** Metrics by Prometheus' conventions: what the process does, and what the database says of runs, rows and requests. */
export function createMetrics(deps: Deps, db: Database, version: string): Metrics {
  const registers = [new Registry()]
  const [registry] = registers
  if (registry === undefined) throw new Error('there is no registry')
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  const gauge: MakeGauge = (name, help, labelNames = []) =>
    new Gauge({ name: `nightferry_${name}`, help, labelNames, registers })
  const calls = new Histogram({
    name: 'nightferry_service_call_duration_seconds',
    help: 'Calls of the service by this process, by method and by how they ended.',
    labelNames: ['method', 'outcome'],
    buckets: callBuckets,
    registers,
  })
  deps.exchange.onCall(({ method, outcome, seconds }) => calls.observe({ method, outcome }, seconds))
  gauge('build_info', 'The version; always 1.', ['version']).set({ version }, 1)
  const connections = gauge('database_connections', 'Connections of this process to its database.', ['state'])
  const up = gauge('database_up', '1 if the database answered; if not, what it says is of the last time that it did.')
  const runs = new Counter({
    name: 'nightferry_runs_total',
    help: 'Runs that ended, by job and verdict.',
    labelNames: [ofJob, 'verdict'],
    registers,
  })
  const waiting = backlogGauges(gauge)
  const shown = { runs, ...runGauges(gauge) }
  const backlogs = new AnswerCache()
  const backlog = async (): Promise<Backlog | null> => {
    const counted = backlogs.often('backlog', new Date(), (begin) =>
      countBacklog(db, (own) => measureBacklog(own, deps), begin).catch((error: Error) => {
        // However late: the scrape that asked has its answer by now, and numbers of long ago would stand for ever.
        deps.tellTrouble('metrics_not_measured', error)
        for (const metric of Object.values(waiting)) metric.reset()
        throw error
      }),
    )
    const patience = new AbortController()
    const late = delay(backlogPatienceMs, null, { ref: false, signal: patience.signal }).catch(() => null)
    return await Promise.race([counted.then(({ answer }) => answer), late]).finally(() => patience.abort())
  }
  let kept: { at: number; found: Promise<Measured> } | null = null
  const current = async (): Promise<Measured> => {
    const at = performance.now()
    if (kept === null || at - kept.at > keptMs) kept = { at, found: measure(db, deps.config) }
    return await kept.found.catch((error: unknown) => {
      kept = null
      throw error
    })
  }
  return {
    contentType: registry.contentType,
    text: async () => {
      let isAway = false
      const failed = (error: Error) => {
        isAway ||= isDatabaseAway(error)
        return null
      }
      const found = await current().catch((error: Error) => {
        deps.tellTrouble('metrics_not_measured', error)
        return failed(error)
      })
      const counted = isAway ? null : await backlog().catch(failed)
      up.set(isAway ? 0 : 1)
      if (found !== null) show(found, shown, jobsOf(deps.config))
      if (counted !== null) showBacklog(counted, waiting)
      const { totalCount, idleCount, waitingCount } = deps.pool
      connections.set({ state: 'used' }, totalCount - idleCount)
      connections.set({ state: 'idle' }, idleCount)
      connections.set({ state: 'waited_for' }, waitingCount)
      return await registry.metrics()
    },
  }
}

/** What is told of rows that wait. */
const backlogGauges = (gauge: MakeGauge) => ({
  rows: gauge('rows', 'Rows of the ledger by stream and state; a row may be in several.', ['stream', 'state']),
  oldest: gauge('oldest_pending_change_timestamp_seconds', 'Since when the oldest change waits to be accepted.', [
    'stream',
  ]),
  unaccepted: gauge(
    'oldest_unaccepted_change_timestamp_seconds',
    'Since when the oldest change is not accepted; 0: all are.',
  ),
})

/** What is told of runs, requests and all else that is counted at once. */
const runGauges = (gauge: MakeGauge) => ({
  running: gauge('runs_running', 'Runs under way.', [ofJob]),
  started: gauge(
    'run_last_start_timestamp_seconds',
    'When the newest run with this verdict began. Parts of a job, what carried no data through, and runs for another destination do not count.',
    [ofJob, 'verdict'],
  ),
  ended: gauge('run_last_end_timestamp_seconds', 'When the newest run with this verdict ended.', [ofJob, 'verdict']),
  took: gauge('run_last_duration_seconds', 'How long the newest run with this verdict took.', [ofJob, 'verdict']),
  steps: gauge(
    'run_step_last_duration_seconds',
    'How long each step of a job took when it was last done for the destination in use.',
    [ofJob, 'step'],
  ),
  repeats: gauge(
    'run_last_repeated_requests',
    'Requests that the last run for the destination in use sent again over a lost answer, by kind.',
    ['kind'],
  ),
  bytes: gauge('run_last_sent_bytes', 'Bytes of the bodies of that run, not compressed, by kind.', ['kind']),
  requests: gauge(
    'requests_unfinished',
    'Requests to the destination in use that are not settled, by kind and state.',
    ['kind', 'state'],
  ),
  brought: gauge(
    'search_last_brought_timestamp_seconds',
    'When the newest search that brought its pages was made, or the first one, if none did: calculators, or search: with a name.',
    ['search'],
  ),
  pages: gauge('pages_waiting', 'Pages of searches that are not loaded yet, of runs that are under way.'),
  looks: gauge('queue_looks', 'Looks in the queue, by queue and state.', ['queue', 'state']),
  notifications: gauge('notifications_pending', 'Messages that were not delivered yet.'),
  refused: gauge('service_key_refused', '1 while the service does not accept the API key.'),
  skew: gauge('service_clock_skew_seconds', "How far the service's clock is ahead of ours, at least."),
  held: gauge('runs_held', 'Runs that the guard stopped and that wait for a person.'),
})

type RunMetrics = { runs: Counter } & ReturnType<typeof runGauges>

/** Sets what was measured of runs and requests. @param jobs those that there are. */
function show(found: Measured, { runs, ...shown }: RunMetrics, jobs: readonly Pick<Job, 'name'>[]): void {
  for (const metric of [runs, ...Object.values(shown)]) metric.reset()
  // A job that never ran says so by 0, so that an alert can be over it.
  for (const { name: job } of jobs) {
    for (const verdict of ['succeeded', 'partial', 'failed']) {
      runs.inc({ [ofJob]: job, verdict }, 0)
      shown.started.set({ [ofJob]: job, verdict }, 0)
    }
  }
  for (const { job, verdict, runs: many, started_at, finished_at } of found.runs) {
    if (verdict === 'running') {
      shown.running.set({ [ofJob]: job }, many)
      continue
    }
    runs.inc({ [ofJob]: job, verdict }, many)
    if (started_at === null) continue
    shown.started.set({ [ofJob]: job, verdict }, secondsOf(started_at))
    if (finished_at === null) continue
    shown.ended.set({ [ofJob]: job, verdict }, secondsOf(finished_at))
    shown.took.set({ [ofJob]: job, verdict }, secondsOf(finished_at) - secondsOf(started_at))
  }
  for (const { job, step, ms } of found.steps) shown.steps.set({ [ofJob]: job, step }, ms / 1000)
  for (const { kind, repeats, bytes } of found.sent) {
    shown.repeats.set({ kind }, repeats)
    shown.bytes.set({ kind }, bytes)
  }
  for (const { kind, name, planned_at } of found.brought) {
    shown.brought.set({ search: kind === searchKind ? 'calculators' : `search:${name}` }, secondsOf(planned_at))
  }
  for (const { kind, state, requests } of found.requests) shown.requests.set({ kind, state }, requests)
  for (const { queue, state, looks } of found.looks) shown.looks.set({ queue, state }, looks)
  shown.pages.set(found.pages_waiting)
  shown.notifications.set(found.notifications_pending)
  shown.held.set(found.runs_held)
  shown.refused.set(found.key_refused ? 1 : 0)
  if (found.skew_seconds !== null) shown.skew.set(found.skew_seconds)
}

function showBacklog({ streams, oldest_unaccepted }: Backlog, waiting: ReturnType<typeof backlogGauges>): void {
  for (const metric of Object.values(waiting)) metric.reset()
  for (const stream of streams) {
    for (const state of rowStates) waiting.rows.set({ stream: stream.stream, state }, stream[state])
    if (stream.oldest_pending !== null) {
      waiting.oldest.set({ stream: stream.stream }, secondsOf(stream.oldest_pending))
    }
  }
  waiting.unaccepted.set(oldest_unaccepted === null ? 0 : secondsOf(oldest_unaccepted))
}

function secondsOf(at: Date): number {
  return at.getTime() / 1000
}

/** The states of rows that are counted, as `nightferry status` names them. */
const rowStates = [
  'accepted',
  'pending',
  'invalid',
  'parked',
  'suspended',
  'rejected',
  'unknown',
  'in_flight',
  'held',
  'unconfigured',
  'gone',
] as const
