import type { NotificationEvent, RunFailure, Verdict } from '../../db/tables/run-tables.ts'
import { heldRows, parkedInNeed, type RunReport } from '../report/report.ts'

/** What people are told, whatever format it leaves in: the documented shape of `notify.format: json`. */
export type Message = {
  event: NotificationEvent | 'test'
  job: string
  /** What people call the service and profile that it is about; null: it is about none. */
  destination: string | null
  run_id: number | null
  verdict: string | null
  /** What happened, in a sentence. */
  sentence: string
  numbers: Record<string, number>
  /** The likeliest causes, at most three, each with the verb that shows more or helps. */
  causes: { what: string; rows: number | null; verb: string }[]
}

/** What is told of a run that ended. Pure. */
export function messageOfEnd(run: EndedRun, judged: Judged): Message {
  const { job, destination, run_id, verdict } = run
  const about = { event: judged.event, job, destination, run_id, verdict }
  const numbers = numbersOf(run)
  if (judged.event === 'recovered') {
    const sentence = `${run.job} is well again: run ${run.run_id} ${run.verdict}. Before: ${judged.cause}`
    return { ...about, sentence, numbers, causes: [] }
  }
  if (run.failure !== null) {
    const { code, message, step } = run.failure
    const sentence = `${run.job} failed: run ${run.run_id} stopped at the step ${step} (${code}). ${message}`
    return {
      ...about,
      sentence: shortened(sentence),
      numbers,
      causes: [{ what: code, rows: null, verb: 'nightferry status' }],
    }
  }
  const remarks = run.report?.remarks ?? []
  const needs = judged.event === 'failed' ? 'cannot be trusted' : 'needs a person'
  const sentence = `${run.job} finished, and ${needs} (run ${run.run_id}): ${remarks.join(' ')}`
  return { ...about, sentence: shortened(sentence), numbers, causes: causesOf(run) }
}

/** Receivers take messages of some kilobytes; the report has the rest. */
const mostCharacters = 2_000

function shortened(sentence: string): string {
  return sentence.length > mostCharacters ? `${sentence.slice(0, mostCharacters).toWellFormed()}…` : sentence
}

/** What is told of a run that was due and has not ended. Pure. */
export function messageOfLate(job: string, due: Date, runId: number | null): Omit<Message, 'destination'> {
  const state = runId === null ? 'no run of it has begun' : `run ${runId} is under way`
  return {
    event: 'late',
    job,
    run_id: runId,
    verdict: null,
    sentence: `${job} was due at ${due.toISOString()} and has not ended: ${state}.`,
    numbers: {},
    causes: [{ what: state, rows: null, verb: 'nightferry status' }],
  }
}

/** A run that will end after its deadline. */
export type SlowRun = { run_id: number; job: string; step: string; ends_at: Date | null; deadline: Date }

/** What is told of it. Pure. */
export function messageOfSlow({ run_id, job, step, ends_at, deadline }: SlowRun): Omit<Message, 'destination'> {
  const by = `has to end by ${deadline.toISOString()}`
  const when = ends_at === null ? 'has not' : `at this speed ends at ${ends_at.toISOString()}`
  return {
    event: 'slow',
    job,
    run_id,
    verdict: null,
    sentence: `${job} ${by}, and ${when}: run ${run_id} is at the step ${step}.`,
    numbers: {},
    causes: [{ what: `at the step ${step}`, rows: null, verb: 'nightferry status' }],
  }
}

/** What `nightferry notify --test` sends. */
export const testMessage: Message = {
  event: 'test',
  job: 'nightly-sync',
  destination: null,
  run_id: null,
  verdict: null,
  sentence: 'This is a test of Nightferry: how runs end will be told here.',
  numbers: {},
  causes: [],
}

const counts = ['sent', 'confirmed', 'inferred', 'rejected', 'invalid', 'parked', 'unknown'] as const

function sumOf({ report }: EndedRun, name: (typeof counts)[number] | 'withheld'): number {
  return (report?.streams ?? []).reduce((sum, stream) => sum + stream[name], 0)
}

function numbersOf(run: EndedRun): Record<string, number> {
  if (run.report === null) return {}
  return {
    ...Object.fromEntries(counts.map((name) => [name, sumOf(run, name)])),
    held: heldRows(run.report.streams),
    duration_ms: run.report.duration_ms,
  }
}

function causesOf(run: EndedRun): Message['causes'] {
  const parkedRows = (run.report?.streams ?? []).reduce((sum, stream) => sum + parkedInNeed(stream), 0)
  const kinds = [
    {
      what: 'rejected by the service',
      rows: sumOf(run, 'rejected') + sumOf(run, 'withheld'),
      verb: 'nightferry rejected',
    },
    { what: 'invalid, and not sent', rows: sumOf(run, 'invalid'), verb: 'nightferry invalid' },
    { what: 'sent, without an answer', rows: sumOf(run, 'unknown'), verb: 'nightferry unknown' },
    { what: 'parked', rows: parkedRows, verb: 'nightferry parked' },
  ]
  const found = kinds.filter(({ rows }) => rows > 0).toSorted((one, other) => other.rows - one.rows)
  const causes = [...heldCause(run), ...found]
  return causes.length > 0 ? causes.slice(0, 3) : [{ what: 'see the report', rows: null, verb: 'nightferry status' }]
}

/** What the guard holds keeps all else from being sent, so it comes before larger causes. */
function heldCause({ run_id, report }: EndedRun): Message['causes'] {
  if (report === null || report.held.length === 0) return []
  const rows = heldRows(report.streams)
  return [{ what: 'held by the guard', rows: rows === 0 ? null : rows, verb: `nightferry approve ${run_id}` }]
}

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
  report: Pick<RunReport, 'remarks' | 'streams' | 'held' | 'duration_ms'> | null
}

/** What people are told, and why: the same cause is not told again while it lasts. */
type Judged = { event: Exclude<NotificationEvent, 'heartbeat' | 'late' | 'slow'>; cause: string }

/** What people know of a job when one of its runs is judged: causes, each null where there is none. */
export type Known = {
  /** The cause that they were told of last and that was not over since. */
  told: string | null
  /** The cause of the newest trouble, if they were told of it: another one may have come between it and `told`. */
  newest: string | null
}

/**
 * Whether people are to be told how a run ended. Pure.
 * @param partialRows so many rows of a partial run must need a person.
 * @returns null if there is nothing new.
 */
export function judgeEnd(run: EndedRun, { told, newest }: Known, partialRows: number): Judged | null {
  const trouble = troubleOf(run, partialRows)
  if (trouble === null) return told === null || run.part ? null : { event: 'recovered', cause: told }
  return trouble.cause === newest ? null : trouble
}

function troubleOf({ verdict, failure, report }: EndedRun, partialRows: number): Judged | null {
  if (verdict === 'succeeded') return null
  if (verdict === 'failed') return { event: 'failed', cause: `failed: ${failure?.code ?? 'counts'}` }
  const rows = rowsInNeed(report)
  const few = rows > 0 && rows < partialRows
  // What is said of so few rows is left out; a run may be partial over something else, such as a page that failed.
  const remarks = (report?.remarks ?? []).filter((remark) => !few || !/^[\d,.]+ rows? /.test(remark))
  if (few && remarks.length === 0) return null
  return { event: 'partial', cause: `partial: ${[...new Set(remarks.map(kindOfRemark))].sort().join(' ')}` }
}

/** Rows that a person may have to see to. */
function rowsInNeed(report: EndedRun['report']): number {
  return (report?.streams ?? []).reduce(
    (sum, { rejected, invalid, unknown, withheld, behind, ...stream }) =>
      sum + rejected + invalid + unknown + withheld + parkedInNeed(stream) + behind + heldRows([stream]),
    0,
  )
}

/** The beginning of a remark without what differs from night to night: details, numbers, ids and the plural. */
function kindOfRemark(remark: string): string {
  const [beginning = ''] = remark.split(':')
  return beginning
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '#')
    .replaceAll(/\d[\d,.]*/g, '#')
    .replaceAll(/\b(\w{3,})s\b/g, '$1')
    .replaceAll(/\b(are|were)\b/g, 'is')
}
