import { grouped } from '../../counted.ts'
import type { NotificationEvent } from '../../db/tables/run-tables.ts'
import { heldRows } from '../report/report.ts'
import { type EndedRun, type Growth, type Judged, needsOf } from './judge-end.ts'

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
  const beginning = `${run.job} finished, and ${needs} (run ${run.run_id})`
  const grown = judged.grown ?? []
  const more = grown.length === 0 ? ':' : `. ${growthWords(grown)}`
  const sentence = `${beginning}${more} ${remarks.join(' ')}`
  return { ...about, sentence: shortened(sentence), numbers, causes: causesOf(run) }
}

/** By how much the trouble grew since people were told of it, or since there was least of it. */
function growthWords(grown: readonly Growth[]): string {
  return `It grew: ${grown.map(({ noun, what, before, now }) => `from ${grouped(before)} to ${grouped(now)} ${noun} ${what}`).join('; ')}.`
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

function numbersOf({ report }: EndedRun): Record<string, number> {
  if (report === null) return {}
  const { streams, duration_ms } = report
  return {
    ...Object.fromEntries(counts.map((name) => [name, streams.reduce((sum, stream) => sum + stream[name], 0)])),
    held: heldRows(streams),
    duration_ms,
  }
}

function causesOf(run: EndedRun): Message['causes'] {
  const found = (run.report === null ? [] : needsOf(run.report))
    .flatMap(({ what, verb, amount: rows }) => (verb === null || rows === 0 ? [] : [{ what, rows, verb }]))
    .toSorted((one, other) => other.rows - one.rows)
  const causes = [...heldCause(run), ...found]
  return causes.length > 0 ? causes.slice(0, 3) : [{ what: 'see the report', rows: null, verb: 'nightferry status' }]
}

/** What the guard holds keeps all else from being sent, so it comes before larger causes. */
function heldCause({ report }: EndedRun): Message['causes'] {
  const [first] = report?.held ?? []
  if (report === null || first === undefined) return []
  const rows = heldRows(report.streams)
  return [{ what: 'held by the guard', rows: rows === 0 ? null : rows, verb: `nightferry approve ${first.run_id}` }]
}
