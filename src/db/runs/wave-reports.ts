import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { type RequirementState, waitsFor } from '../ledger/parked-reason.ts'
import type { Requires } from '../ledger/requirements.ts'
import { rowState } from '../ledger/row-state.ts'
import type { SubmissionState } from '../tables/submission-tables.ts'
import { besideOthers } from './run-life.ts'

export type WaveSubmission = {
  submission_id: number
  kind: string
  partition: string
  state: SubmissionState
  rows: number
  /** The submission that this one is a part of, since that was split. */
  parent_id: number | null
  planned_at: Date
  attempted_at: Date | null
  settled_at: Date | null
  /** Submissions of this run by which what the rows require was accepted, and how many of the rows waited for each. */
  released_by: { submission_id: number; rows: number }[]
}

/**
 * The submissions of a run that carry rows, in the order in which they were planned, with what released them.
 * @param limit how many of the first; null: all.
 */
export async function waveSubmissions(
  db: Database,
  runId: number,
  limit: number | null = null,
): Promise<WaveSubmission[]> {
  const { rows } = await sql<WaveSubmission>`
    select submission_id, kind, partition, state, row_count as rows, parent_id, planned_at, attempted_at, settled_at,
           coalesce(released_by, '[]') as released_by
    from submission
    left join lateral (
      select jsonb_agg(jsonb_build_object('submission_id', release.released_by, 'rows', release.rows)
                       order by release.rows desc, release.released_by) as released_by
      from submission_release release
      where release.submission_id = submission.submission_id
    ) released on true
    where run_id = ${runId} and row_count > 0
    order by submission_id limit ${limit}`.execute(db)
  return rows
}

/** A later run, and how many requests it took over. */
export type TakenOver = { run_id: number; submissions: number }

/** Requests of one run are with one other at a time, but for the few that do not end for nights. */
const mostRuns = 20

/**
 * The runs with which requests stand that a run sent and did not see the end of (`adoptUnfinished`). They were planned
 * after the run began and before the one after it did: only one at a time sends, and housekeeping beside it never.
 */
export async function takenOver(db: Database, runId: number): Promise<TakenOver[]> {
  const { rows } = await sql<TakenOver>`
    select later.run_id, count(*) as submissions
    from (
      select run_id, started_at, (
        select min(started_at) from run next
        where next.run_id > sender.run_id and next.job <> ${besideOthers} and next.state <> 'skipped') as until
      from run sender where run_id = ${runId} and job <> ${besideOthers} and state <> 'skipped' offset 0
    ) sender
    join submission later
      on later.run_id > sender.run_id and later.planned_at >= sender.started_at and later.planned_at < sender.until
    group by later.run_id order by later.run_id limit ${mostRuns}`.execute(db)
  return rows
}

export type ParkedBehind = {
  stream: string
  rows: number
  properties: number
  /** The stream that is waited for, and where its rows stand. */
  required: string
  requirement_state: RequirementState
  /** The submission that holds what is waited for; null where none does. */
  submission_id: number | null
}

/** What is parked now, and behind what. @param limit how many groups, in the order of the streams; null: all. */
export async function parkedBehind(
  db: Database,
  requires: Requires,
  limit: number | null = null,
): Promise<ParkedBehind[]> {
  const { rows } = await sql<ParkedBehind>`
    select row.stream, count(*) as rows, count(distinct row.partner_id) as properties, waits.required,
           waits.requirement_state, waits.requirement_held_by as submission_id
    from ledger row
    cross join lateral ${waitsFor(requires)} waits
    where row.pending and ${rowState(requires)} = 'parked'
    group by row.stream, waits.required, waits.requirement_state, waits.requirement_held_by
    order by row.stream, rows desc, waits.requirement_held_by limit ${limit}`.execute(db)
  return rows
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
