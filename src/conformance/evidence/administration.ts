import { type Bench, needsAdministration } from '../bench.ts'
import { differs, judged, notObserved, type Observation } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { findHotel } from './hotel.ts'
import { writeAnswers } from './written-answers.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Calls the sandbox's administration API; what the real service has a web application for is there. */
export function administer(
  bench: Bench,
  method: Method,
  path: string,
  options: { body?: unknown; key?: string } = {},
): Promise<Answer> {
  return bench.wire.call({ method, path: `/sandbox/${path}` }, options)
}

/** Sets the sandbox's clock forward. */
export async function advance(bench: Bench, ms: number): Promise<void> {
  await administer(bench, 'POST', 'clock/advance', { body: { ms } })
}

/** Lines of the request log, the oldest first, after a line's id. */
export async function readLog(bench: Bench, after: number): Promise<WireObject[]> {
  const answer = await administer(bench, 'GET', `log?after=${after}&limit=1000`)
  return objectsOf(at(answer.json, 'lines'))
}

/** Looks again at short intervals until something is there; null when it does not come in the time for tasks. */
export async function eventually<T>(bench: Bench, look: () => Promise<T | null>, mostMs = 60_000): Promise<T | null> {
  const until = bench.now() + Math.min(bench.limits.taskMs, mostMs)
  for (;;) {
    const found = await look()
    if (found !== null || bench.now() >= until) return found
    await bench.wait(Math.min(bench.limits.pollMs, 100))
  }
}

/** The report of a request in which rows succeeded and rows failed: all of them must be in it. */
export async function reportOf(bench: Bench): Promise<Observation> {
  if (!bench.administration) return notObserved(`the report is in the web application; it ${needsAdministration}`)
  const hotel = bench.writing === null ? null : await findHotel(bench, bench.writing)
  if (hotel === null || typeof hotel === 'string') return notObserved('a report needs a request that wrote something')
  const answers = await writeAnswers(bench, hotel)
  if (typeof answers === 'string') return notObserved(answers)
  const report = await administer(bench, 'GET', `tasks/${answers.mixed.correlationId}/report`)
  if (report.status !== 200) return differs(`the report answered ${report.status}`)
  const outcomes = objectsOf(at(report.json, 'rows')).map((row) => textOf(row.outcome))
  const failed = outcomes.filter((outcome) => outcome === 'failed').length
  const accepted = outcomes.filter((outcome) => outcome === 'accepted').length
  return judged(failed === answers.badRows && accepted > 0, `report: ${accepted} rows accepted, ${failed} failed`)
}
