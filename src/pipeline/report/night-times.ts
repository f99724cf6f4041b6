import type { WaveSubmission } from '../../db/runs/wave-reports.ts'

/** What the sentence is about: the newest run, and how many rows are in each state now. */
type NightStanding = {
  run: {
    run_id: number
    state: string
    step: string
    verdict: string | null
    failure: { message: string } | null
    started_at: Date
    finished_at: Date | null
  } | null
  needs: readonly { state: string; rows: number; hotels: number }[]
  /** Streams that the guard has stopped the newest run over, and which nobody has approved. */
  held: number
  remarks: number
}

type Tone = 'none' | 'running' | 'well' | 'needs' | 'failed'

/** The states that need a person, in the words of the verbs. */
const words: readonly [string, (rows: number, hotels: number) => string][] = [
  ['rejected', (rows) => `${counted(rows, 'row')} rejected by the service`],
  ['invalid', (rows) => `${rows} invalid`],
  ['parked', (rows, hotels) => `${rows} parked behind ${counted(hotels, 'hotel')}`],
  ['unknown', (rows) => `${rows} that nobody knows the end of`],
  ['held', (rows) => `${rows} held by the guard`],
]

/**
 * How the night stands, in one sentence that a person can read aloud. Pure.
 * @param timeZone in which the time of day is said, which it names itself.
 */
export function nightSentence({ run, needs, held, remarks }: NightStanding, now: Date, timeZone: string) {
  if (run === null) return { tone: 'none' as Tone, sentence: 'No night has run yet.' }
  const at = (moment: Date) => momentWords(moment, now, timeZone)
  if (run.state === 'running') {
    return {
      tone: 'running' as Tone,
      sentence: `Run ${run.run_id} is under way since ${at(run.started_at)}, at the step ${run.step}.`,
    }
  }
  const ended = run.finished_at === null ? '' : ` at ${at(run.finished_at)}`
  if (run.state === 'failed' || run.verdict === 'failed') {
    const why = run.failure === null ? 'its counts do not add up' : run.failure.message
    return { tone: 'failed' as Tone, sentence: `The last run failed${ended}: ${sentenceOf(why)}` }
  }
  const told = words.flatMap(([state, say]) => {
    const need = needs.find((one) => one.state === state)
    return need === undefined || need.rows === 0 ? [] : [say(need.rows, need.hotels)]
  })
  if (held > 0) told.unshift(`the guard stopped it over ${counted(held, 'stream')}`)
  if (told.length === 0 && remarks === 0) {
    return { tone: 'well' as Tone, sentence: `The last run ended${ended}, and needs nobody.` }
  }
  const what = told.length === 0 ? counted(remarks, 'remark') : told.join(', ')
  return { tone: 'needs' as Tone, sentence: `The last run ended${ended} and needs you: ${what}.` }
}

/** The time of day, with the date where it is not today's. */
function momentWords(moment: Date, now: Date, timeZone: string): string {
  const day = new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'long' })
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(moment)
  return day.format(moment) === day.format(now) ? time : `${time} on ${day.format(moment)}`
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function sentenceOf(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** The middle of some durations; null of none. Pure. */
export function medianOf(durations: readonly number[]): number | null {
  const sorted = durations.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

/** Submissions of a run that waited for as many others, one after the other. */
export type Wave = {
  /** 1: nothing of it waited for another submission of the run. */
  wave: number
  /** What its requests carried; what the parts of a split request send again is not counted twice. */
  rows: number
  /** When the first of it was cut, and when the last was settled; null while one is not. */
  from: Date
  to: Date | null
  submissions: WaveSubmission[]
}

/**
 * Puts the submissions of a run into waves: one that was released by others stands in the wave after the latest of
 * theirs, and the parts of one that was split stand beside it, because they carry its rows. A submission is planned
 * after those that released it and after the one it is a part of, so one pass in their order is enough. Pure.
 */
export function wavesOf(submissions: readonly WaveSubmission[]): Wave[] {
  const numbers = new Map<number, number>()
  const waves: Wave[] = []
  for (const submission of submissions.toSorted((a, b) => a.submission_id - b.submission_id)) {
    const before = submission.released_by.map(({ submission_id }) => numbers.get(submission_id) ?? 0)
    const whole = submission.parent_id === null ? undefined : numbers.get(submission.parent_id)
    const number = whole ?? 1 + before.reduce((most, one) => Math.max(most, one), 0)
    numbers.set(submission.submission_id, number)
    const wave = waves[number - 1]
    if (wave === undefined) {
      const { rows, planned_at: from, settled_at: to } = submission
      waves.push({ wave: number, rows, from, to, submissions: [submission] })
      continue
    }
    if (whole === undefined) wave.rows += submission.rows
    wave.to = later(wave.to, submission.settled_at)
    wave.submissions.push(submission)
  }
  return waves
}

function later(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return null
  return one > other ? one : other
}
