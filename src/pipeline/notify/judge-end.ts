import type { Config } from '../../config/schema.ts'
import type { NotificationEvent, RunFailure, Verdict } from '../../db/tables/run-tables.ts'
import { heldRows, parkedInNeed, type RunReport, rejectedWords, withheldWords } from '../report/report.ts'

/** A run that has ended. */
export type EndedRun = {
  run_id: number
  job: string
  /** What people call the service and profile that it sent to. */
  destination: string
  verdict: Verdict
  failure: RunFailure | null
  finished_at: Date | null
  /** It was to do some of its steps or streams alone: that it ended well says nothing of the others. */
  part: boolean
  /** One of an earlier version may lack a part. */
  report:
    | (Pick<RunReport, 'remarks' | 'streams' | 'held' | 'duration_ms'> &
        Partial<Pick<RunReport, 'searches' | 'documents' | 'comparison' | 'comparisons' | 'not_renewed'>>)
    | null
}

/** Something that may need a person, and how much of it there is. */
type Need = {
  kind: string
  /** What is counted, and what is so with it. */
  noun: string
  what: string
  /** The verb that shows the rows, where one does and a message names it as a cause. */
  verb: string | null
  /** Whether it is among the rows of which `notify.partialRows` have to need a person. */
  counted: boolean
  amount: number
}

/** What of a run may need a person, by kind, also where it is none. Pure. */
export function needsOf(report: NonNullable<EndedRun['report']>): Need[] {
  const { streams, searches = [], documents = [], comparison = null, comparisons = [], not_renewed = [] } = report
  const sum = <T>(all: readonly T[], count: (one: T) => number) => all.reduce((total, one) => total + count(one), 0)
  const rows = { noun: 'rows', verb: null, counted: true }
  const other = { verb: null, counted: false }
  const differing = [...(comparison === null ? [] : [comparison]), ...comparisons]
  return [
    {
      ...rows,
      kind: 'rejected',
      what: rejectedWords,
      verb: 'nightferry rejected',
      amount: sum(streams, ({ rejected, withheld }) => rejected + withheld),
    },
    {
      ...rows,
      kind: 'invalid',
      what: 'invalid, and not sent',
      verb: 'nightferry invalid',
      amount: sum(streams, ({ invalid }) => invalid),
    },
    {
      ...rows,
      kind: 'unknown',
      what: 'sent, without an answer',
      verb: 'nightferry unknown',
      amount: sum(streams, ({ unknown }) => unknown),
    },
    {
      ...rows,
      kind: 'parked',
      what: 'parked',
      verb: 'nightferry parked',
      amount: sum(streams, parkedInNeed),
    },
    { ...rows, kind: 'behind', what: 'behind tasks that have not ended', amount: sum(streams, ({ behind }) => behind) },
    { ...rows, kind: 'held', what: 'held by the guard', amount: heldRows(streams) },
    {
      ...other,
      kind: 'awaited',
      noun: 'rows',
      what: 'with tasks that have not ended',
      amount: sum(streams, ({ awaited }) => awaited),
    },
    {
      ...other,
      kind: 'pages',
      noun: 'pages',
      what: 'that could not be loaded',
      amount: sum([...searches, ...documents], ({ failed_pages }) => failed_pages),
    },
    {
      ...other,
      kind: 'quarantined',
      noun: 'parts',
      what: 'of pages that were left out',
      amount: sum([...searches, ...documents], ({ quarantined }) => quarantined),
    },
    {
      ...other,
      kind: 'differences',
      noun: 'differences',
      what: 'between what was sent and what came back',
      amount: sum(differing, ({ absent, different }) => absent + different),
    },
    {
      ...other,
      kind: 'not_renewed',
      noun: 'parts',
      what: 'that a search did not renew',
      // What a person has brought back needs nobody.
      amount: sum(not_renewed, ({ parts, reason }) => (reason === 'restored' ? 0 : parts)),
    },
  ]
}

/** How much there is of each kind of trouble that a cause is about. */
export type Amounts = Readonly<Record<string, number>>

/** That of a kind of trouble there is much more than before. */
export type Growth = Pick<Need, 'noun' | 'what'> & { before: number; now: number }

/** What people are told, and why: the same cause is not told again while it lasts and does not grow much. */
export type Judged = {
  event: Exclude<NotificationEvent, 'heartbeat' | 'late' | 'slow'>
  cause: string
  grown?: readonly Growth[]
}

/** What people know of a job when one of its runs is judged: causes, each null where there is none. */
export type Known = {
  /** The cause that they were told of last and that was not over since. */
  told: string | null
  /** The cause of the newest trouble, if they were told of it: another one may have come between it and `told`. */
  newest: string | null
  /** The cause of which they were told last, and the least that there was of it since; null where it was over since. */
  measured: { cause: string; amounts: Amounts } | null
}

type Limits = Pick<Config['notify'], 'partialRows' | 'againFactor'>

/**
 * Whether people are to be told how a run ended. Pure.
 * @returns null if there is nothing new.
 */
export function judgeEnd(run: EndedRun, { told, newest, measured }: Known, limits: Limits): Judged | null {
  const trouble = troubleOf(run, limits)
  if (trouble === null) return told === null || run.part ? null : { event: 'recovered', cause: told }
  const grown = measured?.cause === trouble.cause ? growthSince(measured.amounts, run, limits) : []
  return trouble.cause === newest && grown.length === 0 ? null : { ...trouble, grown }
}

function troubleOf(run: EndedRun, limits: Limits): Judged | null {
  const { verdict, failure, report } = run
  if (verdict === 'succeeded') return null
  if (verdict === 'failed') return { event: 'failed', cause: `failed: ${failure?.code ?? 'counts'}` }
  const few = isFew(run, limits)
  // What is said of so few rows is left out; a run may be partial over something else, such as a page that failed.
  const remarks = (report?.remarks ?? []).filter((remark) => !few || !/^[\d,.]+ rows? /.test(remark))
  if (few && remarks.length === 0) return null
  return { event: 'partial', cause: `partial: ${[...new Set(remarks.map(kindOfRemark))].sort().join(' ')}` }
}

/** Whether some rows need a person, and fewer than people want to hear of. */
function isFew({ report }: EndedRun, { partialRows }: Limits): boolean {
  const counted = (report === null ? [] : needsOf(report)).filter((need) => need.counted)
  const rows = counted.reduce((sum, { amount }) => sum + amount, 0)
  return rows > 0 && rows < partialRows
}

/** What the cause of a partial run is about. Pure. */
function needsTold(run: EndedRun, limits: Limits): Need[] {
  if (run.verdict !== 'partial' || run.report === null) return []
  const few = isFew(run, limits)
  return needsOf(run.report).filter(({ counted }) => !(few && counted))
}

/** How much there is of what the cause of a run is about: kept with what people are told of it. Pure. */
export function amountsOf(run: EndedRun, limits: Limits): Amounts {
  return Object.fromEntries(needsTold(run, limits).map(({ kind, amount }) => [kind, amount]))
}

/** The less of two of each kind: what shrank is measured by that from then on. Pure. */
export function leastOf(before: Amounts, now: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(now).map(([kind, amount]) => [kind, Math.min(amount, before[kind] ?? amount)]),
  )
}

/** Fewer more than this are no news, whatever they are a multiple of: a person would be woken for 3 that are now 7. */
const leastMore = 10

/** Kinds of which nobody noted how much there was, as in earlier versions, are measured from now on. */
function growthSince(before: Amounts, run: EndedRun, limits: Limits): Growth[] {
  return needsTold(run, limits).flatMap(({ kind, noun, what, amount: now }) => {
    const then = before[kind]
    if (then === undefined || now - then < leastMore || now < then * limits.againFactor) return []
    return [{ noun, what, before: then, now }]
  })
}

/** The beginning of a remark without what differs from night to night: details, numbers, ids and the plural. */
function kindOfRemark(remark: string): string {
  const [beginning = ''] = remark.split(':')
  return (
    beginning
      // A row that was rejected is withheld the night after: that is nothing new.
      .replace(withheldWords, rejectedWords)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '#')
      .replaceAll(/\d[\d,.]*/g, '#')
      .replaceAll(/\b(\w{3,})s\b/g, '$1')
      .replaceAll(/\b(are|were)\b/g, 'is')
  )
}
