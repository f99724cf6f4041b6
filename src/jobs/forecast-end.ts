import type { StepTime } from '../db/runs/run-steps.ts'

/** Where a run stands, as far as its end can be told from it. */
type Standing = {
  step: string
  startedAt: Date
  /** The steps of the run, in their order. */
  steps: readonly string[]
  /** Those that are done. */
  done: readonly StepTime[]
  /** How much of the step at hand is done, 0 to 1; null: nobody can tell. */
  share: number | null
}

/** With less of a step done than this, its speed says nothing. */
const tellingShare = 0.05

/**
 * When a run will end: what is left of the step at hand, by the speed so far or else by how long it took in earlier
 * runs, and the other steps as they took then (the median of the runs). Pure.
 * @param past steps of earlier runs.
 * @returns null if a step that is left was never done before, and so nobody can tell.
 */
export function forecastEnd({ step, startedAt, steps, done, share }: Standing, past: readonly StepTime[], now: Date) {
  const at = steps.indexOf(step)
  if (at === -1) return null
  const usual = (name: string): number | null =>
    median(past.filter((one) => one.step === name).map((one) => one.ended_at.getTime() - one.began_at.getTime()))
  const began = done.at(-1)?.ended_at ?? startedAt
  const elapsed = now.getTime() - began.getTime()
  // The report is drawn up in a moment, and no run notes how long that takes.
  const known = at === steps.length - 1 ? 0 : usual(step)
  const bySpeed = share !== null && share >= tellingShare ? elapsed / share : null
  const whole = bySpeed ?? known
  if (whole === null) return null
  let end = began.getTime() + Math.max(whole, elapsed)
  for (const [index, later] of steps.slice(at + 1).entries()) {
    const ms = usual(later)
    if (ms === null && at + 1 + index < steps.length - 1) return null
    end += ms ?? 0
  }
  return new Date(end)
}

function median(numbers: readonly number[]): number | null {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)]
  return middle ?? null
}
