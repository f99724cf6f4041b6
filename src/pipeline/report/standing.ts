import { sql } from 'kysely'
import { night } from '../../config/known-names.ts'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { counted, grouped } from '../../counted.ts'
import type { Database, Hurry } from '../../db/database.ts'
import { waitingPlans } from '../../db/guard/guard-plan.ts'
import { batchSizes } from '../../db/ledger/batch-size.ts'
import { statusCounts } from '../../db/ledger/status-counts.ts'
import {
  hasCarried,
  isForDestination,
  isWhole,
  newestElsewhere,
  newestOnLedger,
  newestRuns,
} from '../../db/runs/newest-runs.ts'
import { pageProgress } from '../../db/runs/run-progress.ts'
import { deniedKeyInUse, skewInUse } from '../../db/service-key/service-key.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import { endedTasks, receiverStanding } from '../../db/webhooks/webhook-records.ts'
import type { Deps } from '../deps.ts'
import { searchStandings } from '../pull/documents/document-reports.ts'
import { countUnrenewed } from '../pull/removals/take-removals.ts'
import { missingProperties } from '../pull/search/requested-properties.ts'
import { documentKindNames, searchKind } from '../streams/kind-names.ts'
import { silenceWords } from '../webhook-score.ts'
import type { RunReport } from './report.ts'

/** What `standingOf` finds. */
export type Standing = Awaited<ReturnType<typeof standingOf>>

/**
 * The last run for the destination in use and the ledger at a glance: what `nightferry status` and `GET /v1/status`
 * show. `elsewhere`: the newest run for another destination, where the one in use has none. `held`: what the guard
 * stopped runs over, of whichever job, and nobody has approved.
 */
export async function standingOf(db: Database, config: Config, hurry: Hurry) {
  const last = (await newestOnLedger(db)) ?? null
  const key = await deniedKeyInUse(db)
  const skew = await skewInUse(db)
  const requires = requirementsOf(config)
  const searches = config.pull.searches.map(({ name }) => name)
  return {
    last_run: last === null ? null : withRemarks(last),
    elsewhere: last === null ? await newestElsewhere(db) : null,
    held: await waitingPlans(db, requires),
    key_refused: key === null ? null : { since: key.since, code: key.errorCode, reason: key.serviceMessage },
    service_clock: skew === null ? null : { low_ms: skew.lowMs, high_ms: skew.highMs, measured_at: skew.measuredAt },
    custom_properties: await missingProperties(db, config.pull.customPropertyIds),
    pages: last === null ? null : await pageProgress(db, last.run_id, searchKind),
    not_renewed: await countUnrenewed(db),
    webhooks: await webhookNotices({ config, db }),
    streams: await statusCounts(db, requires, hurry),
    searches: await searchStandings(db, searches, documentKindNames),
    request_sizes: await batchSizes(db),
  }
}

/** A run with what its report remarks, in place of the report: empty where it is well, or has none. Pure. */
export function withRemarks({ report, ...run }: Run): Omit<Run, 'report'> & { remarks: string[] } {
  return { ...run, remarks: (report as Pick<RunReport, 'remarks'> | null)?.remarks ?? [] }
}

/**
 * Of each of these jobs, or of the night in its place, the newest run for the destination in use that was to do all of
 * it, newest first: by them one judges how the night stands.
 */
export async function newestOfJobs(db: Database, jobs: readonly string[]): Promise<Run[]> {
  const found = new Map<number, Run>()
  for (const job of jobs) {
    const [newest] = await newestRuns(db, 1, { job: [job, night], whole: true, here: true, reports: 'whole' })
    if (newest !== undefined) found.set(newest.run_id, newest)
  }
  return [...found.values()].toSorted((one, other) => other.run_id - one.run_id)
}

/** Enough to say that none was told of. */
const tasksRead = 100

/** That webhooks are configured and none come. Nothing is lost by it: polls find the end of every task. */
export async function webhookNotices({ config, db }: Pick<Deps, 'config' | 'db'>): Promise<string[]> {
  if (config.webhooks.secrets.length === 0) return []
  const standing = await receiverStanding(db)
  const tasks = standing === undefined ? [] : await endedTasks(db, tasksRead, config.webhooks.keepDays)
  const words = silenceWords(tasks, standing?.listening ?? false)
  return words === null ? [] : [`${words}.`]
}

/** What the sentence is about: the newest run, and how many rows are in each state now. */
type NightStanding = {
  run: {
    run_id: number
    job: string
    state: string
    step: string
    verdict: string | null
    failure: { message: string } | null
    started_at: Date
    finished_at: Date | null
  } | null
  /** Without a run: another destination had some. */
  elsewhere?: boolean
  needs: readonly { state: string; rows: number; hotels: number }[]
  /** What the guard stopped a run over, and nobody has approved, stream by stream. */
  held: readonly { run_id: number }[]
  remarks: number
  /** The jobs by whose runs one judges whether the data are carried through. */
  jobs: readonly string[]
}

type Tone = 'none' | 'running' | 'well' | 'needs' | 'failed'

/** The states that need a person, in the words of the verbs. */
const needWords: readonly [string, (rows: number, hotels: number) => string][] = [
  ['rejected', (rows) => `${counted(rows, 'row')} rejected by the service`],
  ['invalid', (rows) => `${grouped(rows)} invalid`],
  ['parked', (rows, hotels) => `${grouped(rows)} parked behind ${counted(hotels, 'hotel')}`],
  ['unknown', (rows) => `${grouped(rows)} that nobody knows the end of`],
  ['held', (rows) => `${grouped(rows)} held by the guard`],
]

/**
 * How the night stands, in one sentence that a person can read aloud. Pure.
 * @param timeZone in which the time of day is said, which it names itself.
 */
export function nightSentence(
  { run, elsewhere = false, needs, held, remarks, jobs }: NightStanding,
  now: Date,
  timeZone: string,
) {
  if (run === null && elsewhere) {
    const which = jobs.includes(night) ? 'night' : `run of ${jobs.join(', ')}`
    return { tone: 'none' as Tone, sentence: `No ${which} has run yet for the destination in use.` }
  }
  if (run === null) {
    const none = jobs.includes(night) ? 'No night has run yet.' : `No run of ${jobs.join(', ')} has begun yet.`
    return { tone: 'none' as Tone, sentence: none }
  }
  const at = (moment: Date) => momentWords(moment, now, timeZone)
  if (run.state === 'running') {
    return {
      tone: 'running' as Tone,
      sentence: `Run ${run.run_id} is under way since ${at(run.started_at)}, at the step ${run.step}.`,
    }
  }
  const last = jobs.length > 1 ? `The last run of ${run.job}` : 'The last run'
  const ended = run.finished_at === null ? '' : ` at ${at(run.finished_at)}`
  if (run.state === 'failed' || run.verdict === 'failed') {
    const why = run.failure === null ? 'its counts do not add up' : run.failure.message
    return { tone: 'failed' as Tone, sentence: `${last} failed${ended}: ${sentenceOf(why)}` }
  }
  const told = needWords.flatMap(([state, say]) => {
    const need = needs.find((one) => one.state === state)
    return need === undefined || need.rows === 0 ? [] : [say(need.rows, need.hotels)]
  })
  const stopped = Map.groupBy(held, ({ run_id }) => run_id)
  told.unshift(
    ...[...stopped].map(([held_run, plans]) => {
      const which = held_run === run.run_id ? 'it' : `run ${held_run}`
      return `the guard stopped ${which} over ${counted(plans.length, 'stream')}`
    }),
  )
  if (told.length === 0 && remarks === 0) {
    return { tone: 'well' as Tone, sentence: `${last} ended${ended}, and needs nobody.` }
  }
  const what = told.length === 0 ? counted(remarks, 'remark') : told.join(', ')
  return { tone: 'needs' as Tone, sentence: `${last} ended${ended} and needs you: ${what}.` }
}

/**
 * Of the newest runs of several jobs the one to tell of: one under way, or else one that failed, which a later run of
 * another job does not make good, or else the newest. Pure.
 */
export function runToTell<T extends { run_id: number; state: string; verdict: string | null }>(
  newest: readonly T[],
): T | undefined {
  const newestFirst = newest.toSorted((one, other) => other.run_id - one.run_id)
  return (
    newestFirst.find(({ state }) => state === 'running') ??
    newestFirst.find(({ state, verdict }) => state === 'failed' || verdict === 'failed') ??
    newestFirst[0]
  )
}

/** The time of day, with the date where it is not today's. */
export function momentWords(moment: Date, now: Date, timeZone: string): string {
  const day = new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'long' })
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(moment)
  return day.format(moment) === day.format(now) ? time : `${time} on ${day.format(moment)}`
}

function sentenceOf(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** The middle of some durations; null of none. Pure. */
export function medianOf(durations: readonly number[]): number | null {
  const sorted = durations.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

/**
 * The newest run of a job that carried its data through, the newest of those after it that finished and did not, and
 * whether one is under way.
 */
type Carried = { job: string; started_at: Date | null; passed_over: number | null; running: boolean }

/** Whether the data are as fresh as promised, and if not, why. */
type Freshness = { fresh: boolean; since: Date | null; why: string }

/**
 * When the newest run of each job, or of the night in its place, that carried the data through began: what changed at
 * the partner before that was read. One that was to do a part of its job carried nothing through; one for another
 * destination carried nothing to the one in use.
 */
export async function newestCarried(db: Database, jobs: readonly string[]): Promise<Carried[]> {
  const { rows } = await sql<Carried>`
    select name as job, newest.started_at, running,
           (select max(run_id) from run
            where job in (name, ${night}) and ${tells} and not ${hasCarried} and run_id > coalesce(newest.run_id, 0)
           ) as passed_over
    from unnest(${jobs}::text[]) as judged (name)
    left join lateral (
      select run_id, started_at from run where job in (name, ${night}) and ${tells} and ${hasCarried}
      order by run_id desc limit 1
    ) newest on true
    cross join lateral (
      select exists (select from run where job in (name, ${night}) and state = 'running') as running
    ) under_way`.execute(db)
  return rows
}

/** Whether the end of a run says of the data at the destination in use how fresh they are. */
const tells = sql<boolean>`verdict in ('succeeded', 'partial') and ${isWhole} and ${isForDestination}`

/** By how much two clocks may differ that both count as right. Milliseconds. */
export const clocksDifferMs = 3_600_000

/**
 * Judges how fresh the data are: as fresh as those of the job whose data are oldest, for each job carries others. Pure.
 * @param withinMs `http.freshWithinMs`.
 */
export function judgeFreshness(carried: readonly Carried[], now: Date, withinMs: number): Freshness {
  const several = carried.length > 1
  const oldestFirst = carried
    .map((one) => freshnessOf(one, several ? ` of ${one.job}` : '', now, withinMs))
    .toSorted((one, other) => (one.since?.getTime() ?? 0) - (other.since?.getTime() ?? 0))
  const judged = oldestFirst.find(({ fresh }) => !fresh) ?? oldestFirst[0]
  return judged ?? { fresh: false, since: null, why: 'No job carries data.' }
}

/** @param of the job, where there are several. */
function freshnessOf(carried: Carried, of: string, now: Date, withinMs: number): Freshness {
  const { started_at: since, passed_over, running } = carried
  const passedOver =
    passed_over === null ? '' : ` Run ${passed_over} has ended since and does not count; its report says why.`
  const after = `${passedOver}${running ? ` A run${of} is under way.` : ''}`
  if (since === null) return { fresh: false, since, why: `No run${of} has carried the data through yet.${after}` }
  const ageMs = now.getTime() - since.getTime()
  const hours = (Math.abs(ageMs) / 3_600_000).toFixed(1)
  const promised = (withinMs / 3_600_000).toFixed(1)
  const when = ageMs < 0 ? `${hours} hours from now, by a clock that is ahead` : `${hours} hours ago`
  const why = `The newest run${of} that carried the data through began ${when}, and ${promised} are promised.`
  return { fresh: ageMs <= withinMs && ageMs >= -clocksDifferMs, since, why: `${why}${after}` }
}
