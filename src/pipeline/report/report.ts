import type { Logger } from 'pino'
import { counted, grouped } from '../../counted.ts'
import type { RowNotAccepted } from '../../db/ledger/rows-not-accepted.ts'
import { answersLostCode } from '../../db/ledger/split-submission.ts'
import type { StreamReport, SubmissionReport } from '../../db/runs/report-rows.ts'
import type { NameChange, SearchReport } from '../../db/runs/search-reports.ts'
import type { InputComparison, RowComparison } from '../../db/tables/difference-tables.ts'
import type { GuardPlan, Run, Verdict } from '../../db/tables/run-tables.ts'
import type { DocumentReport } from '../pull/documents/document-reports.ts'
import type { UnrenewedCount } from '../pull/removals/take-removals.ts'
import { comparisonRemarks, overdueRemarks } from './report-words.ts'

export type RunReport = {
  run_id: number
  job: string
  trigger: string
  started_at: Date
  finished_at: Date
  duration_ms: number
  resumed: number
  verdict: Verdict
  /** Why the run is not simply well, one sentence each; empty when it is. */
  remarks: string[]
  /** What is worth knowing and needs nobody. */
  notices: string[]
  /** What the guard stopped the run over; empty when it did not. */
  held: HeldStream[]
  streams: StreamReport[]
  submissions: SubmissionReport[]
  searches: SearchReport[]
  /** The searches of pull.searches, whose pages are kept as documents. */
  documents: DocumentReport[]
  /** Variables and custom properties that the pages named otherwise than before. */
  renamed: NameChange[]
  /** What stands although searches did not renew it, counted by what it is and why. */
  not_renewed: UnrenewedCount[]
  /** What was sent against what came back; null in a run without a search. */
  comparison: InputComparison | null
  /** The same for answers, custom property values, standards held and mappings. */
  comparisons: RowComparison[]
  /** The first of the rows that something is wrong with; `nightferry rejected`, `invalid` and `unknown` show all. */
  refused: RowNotAccepted[]
}

/** The report of a run that found nothing to tell of. Pure. */
export function emptyReport(run: Run, finishedAt: Date): RunReport {
  return {
    run_id: run.run_id,
    job: run.job,
    trigger: run.trigger,
    started_at: run.started_at,
    finished_at: finishedAt,
    duration_ms: finishedAt.getTime() - run.started_at.getTime(),
    resumed: run.resumed,
    verdict: 'succeeded',
    remarks: [],
    notices: [],
    held: [],
    streams: [],
    submissions: [],
    searches: [],
    documents: [],
    renamed: [],
    not_renewed: [],
    comparison: null,
    comparisons: [],
    refused: [],
  }
}

/** A stream whose changes a person has to approve, as the run left it. */
export type HeldStream = Pick<
  GuardPlan,
  'run_id' | 'stream' | 'reason' | 'known' | 'new' | 'changed' | 'gone' | 'examples'
>

/**
 * Sums that must hold for every stream of a finished run. What does not add up is named: such a run is not green.
 * Pure. Each sum compares counts that were taken from different tables or at different times.
 */
export function imbalances(streams: readonly StreamReport[]): string[] {
  return streams.flatMap((s) => {
    const sums: [string, number, string, number][] = [
      ['read', s.read, 'folded + unchanged + changed', s.folded + s.unchanged + s.changed],
      [
        'pending',
        s.pending,
        'invalid + parked + withheld + held + behind + unsent + unconfigured + sent',
        s.invalid + s.parked + s.withheld + s.held + s.behind + (s.unsent ?? 0) + (s.unconfigured ?? 0) + s.sent,
      ],
      [
        'sent',
        s.sent,
        'confirmed + inferred + rejected + unknown + awaited',
        s.confirmed + s.inferred + s.rejected + s.unknown + s.awaited,
      ],
    ]
    return sums
      .filter(([, left, , right]) => left !== right)
      .map(([name, left, parts, right]) => `${s.stream}: ${name} is ${left}, but ${parts} is ${right}`)
  })
}

/** What remarks say of rows that the service rejected in the run, and of those that it rejected before. */
export const rejectedWords = 'rejected by the service'
export const withheldWords = 'rejected before and unchanged since, and not sent again'

/** What a run did, and what it met. */
type Judged = Pick<RunReport, 'streams' | 'submissions' | 'searches'> &
  Partial<Pick<RunReport, 'held' | 'comparison'>> & {
    /** Why the service does not accept the key; null while it does. */
    keyDenied?: string | null
  }

/**
 * The verdict of a finished run and the reasons for it. Pure. `partial`: finished, and something needs a person.
 * `failed`: the counts do not add up, so nothing that the report says can be trusted.
 */
export function judge({ streams, submissions, searches, held = [], keyDenied = null, comparison = null }: Judged): {
  verdict: Verdict
  remarks: string[]
} {
  const wrong = imbalances(streams)
  if (wrong.length > 0) {
    return { verdict: 'failed', remarks: wrong.map((sentence) => `The counts do not add up. ${sentence}.`) }
  }
  const total = (count: (s: StreamReport) => number) => streams.reduce((sum, stream) => sum + count(stream), 0)
  const counts: [number, string][] = [
    [total((s) => s.rejected), rejectedWords],
    [total((s) => s.invalid), 'invalid, and not sent'],
    [total((s) => s.unknown), 'sent, but the service does not say what became of them; the next run sends them again'],
    [total((s) => s.withheld), withheldWords],
    [total(parkedInNeed), 'parked: what they require is not accepted'],
    [total((s) => s.behind), 'not sent: a task that has not ended carries rows of the same property'],
    [total((s) => s.null_cursor), 'without a cursor, read every time; the view rows_without_cursor names them'],
  ]
  const remarks = held.map(heldRemark)
  const [first] = held
  if (first !== undefined) {
    const rows = heldRows(streams)
    const what = rows === 0 ? 'Nothing was sent' : `Nothing was sent, and ${counted(rows, 'row')} held by the guard`
    remarks.push(`${what}. If this is right: nightferry approve ${first.run_id}. The next run then sends it.`)
  }
  remarks.push(...counts.filter(([rows]) => rows > 0).map(([rows, what]) => `${counted(rows, 'row')} ${what}.`))
  remarks.push(...overdueRemarks(submissions))
  remarks.push(...refusalRemarks(submissions))
  remarks.push(...unmatchedRemarks(submissions))
  if (keyDenied !== null) remarks.push(`Nothing more is sent: ${keyDenied}.`)
  for (const search of searches) {
    if (search.failed_pages > 0) {
      remarks.push(
        `${counted(search.failed_pages, 'page')} of the search could not be loaded: ${search.first_error ?? ''}`,
      )
    }
    if (search.quarantined > 0) {
      remarks.push(
        `${counted(search.quarantined, 'part')} of the pages were left out; the table quarantine says which and why.`,
      )
    }
    if (search.withheld !== null)
      remarks.push(
        `Nothing that the search did not show was removed, for the search does not prove absence: ${search.withheld}.`,
      )
  }
  remarks.push(...comparisonRemarks(comparison))
  return { verdict: remarks.length === 0 ? 'succeeded' : 'partial', remarks }
}

/** Parked rows that a person may have to see to: not those of hotels that people have suspended themselves. Pure. */
export function parkedInNeed({ parked, suspended = 0 }: Pick<StreamReport, 'parked' | 'suspended'>): number {
  return parked - suspended
}

/**
 * Rows that wait for approval, as `nightferry status` counts them: those that are pending, and accepted ones that would
 * get their tombstone. An empty source of which nothing is known to be missing holds none. Pure.
 */
export function heldRows(streams: readonly Pick<StreamReport, 'held' | 'held_gone'>[]): number {
  return streams.reduce((sum, stream) => sum + stream.held + (stream.held_gone ?? 0), 0)
}

function unmatchedRemarks(submissions: readonly SubmissionReport[]): string[] {
  const concerned = submissions.filter(({ unmatched }) => unmatched > 0)
  const [first] = concerned
  if (first === undefined) return []
  const total = concerned.reduce((sum, { unmatched }) => sum + unmatched, 0)
  const what =
    total === 1 ? 'error row or entry of a result file matches' : 'error rows or entries of result files match'
  const examples = first.unmatched_examples.map(unmatchedWords).join('; ')
  return [`${grouped(total)} ${what} nothing that was sent, such as in submission ${first.submission_id}: ${examples}.`]
}

/** What the guard stopped a run over, in one sentence. */
function heldRemark({ stream, reason, known, ...would }: HeldStream): string {
  const here = `${counted(known, 'row')} ${known === 1 ? 'is' : 'are'} known`
  if (reason === 'empty') return `Held by the guard: the partner's database has no row for ${stream}, where ${here}.`
  const parts = (['new', 'changed', 'gone'] as const).filter((what) => would[what] > 0)
  return `Held by the guard: of ${stream} ${parts.map((what) => `${grouped(would[what])} ${what}`).join(', ')}, where ${here}.`
}

/** What the service refused whatever a request carried, one sentence for each kind and code. Pure. */
export function refusalRemarks(submissions: readonly SubmissionReport[]): string[] {
  const whole = submissions.filter(({ refusal_verdict }) => refusal_verdict === 'not_the_rows')
  const causes = Map.groupBy(whole, ({ kind, error_code }) => JSON.stringify([kind, error_code]))
  return [...causes.values()].flatMap((refused) => {
    const [first] = refused
    if (first === undefined) return []
    const words = [first.error_code, first.refusal_reason].filter((part) => part !== null).join(': ')
    const isLost = first.error_code === answersLostCode
    const what = isLost ? `Answers to ${first.kind} are lost` : `The service refuses ${first.kind}`
    const alike = isLost ? 'fared' : 'was refused'
    return [
      `${what} whatever they carry (${words}), as in submission ${first.submission_id}: every part of a request ${alike} alike, so it is not the rows. They are sent again by the next run.`,
    ]
  })
}

/** Something that the service said and that matches no row of the request, as it is kept with the submission. */
type Unmatched = Readonly<Record<string, string | number>>

/** What the service said and whom it named, and why that matches nothing, in one line for a person. Pure. */
export function unmatchedWords({ why, code, reason, ...named }: Unmatched): string {
  const names = Object.entries(named).map(([name, value]) => `${name} ${value}`)
  const said = [code, reason].filter((part) => part !== undefined).join(': ')
  const head = [...names, said].filter((part) => part !== '').join(', ')
  return `${head === '' ? 'nothing at all' : head} (${why ?? 'no reason kept'})`
}

/** Who is told of warnings and errors only hears of every run that needs a person. */
const levels = { succeeded: 'info', partial: 'warn', failed: 'error' } as const satisfies Record<
  RunReport['verdict'],
  string
>

/** Writes into the log how a run ended, at the level that its verdict deserves. */
export function logFinished(
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  { run_id, verdict, remarks }: Pick<RunReport, 'run_id' | 'verdict' | 'remarks'>,
): void {
  logger[levels[verdict]]({ run_id, verdict, remarks }, 'run_finished')
}
