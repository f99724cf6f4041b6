import type { WaveSubmission } from '../../db/runs/wave-reports.ts'

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
