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
