import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Requires } from '../../db/ledger/requirement.ts'
import { type ListedRow, rowsInState } from '../../db/ledger/rows-in-state.ts'
import { waveSubmissions } from '../../db/runs/wave-reports.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { wavesOf } from '../../pipeline/report/wave-times.ts'
import { forecastNight, type NightForecast, type PastTask, type RehearsedRequest } from './forecast-night.ts'
import { type Ground, groundOf } from './grounds.ts'

type NamedRow = Pick<ListedRow, 'stream' | 'partner_id' | 'row_key' | 'content' | 'reason'>
/** A row that the mirror refused in the rehearsed run. */
export type RefusedThere = NamedRow & { code: string | null } & Ground
/** A row that Nightferry did not send, because it cannot be right. */
export type KeptHere = NamedRow

/** What a rehearsed night came to. */
export type RehearsedNight = {
  run_id: number
  verdict: RunReport['verdict']
  streams: Pick<
    RunReport['streams'][number],
    'stream' | 'sent' | 'confirmed' | 'inferred' | 'rejected' | 'invalid' | 'parked'
  >[]
  refused: RefusedThere[]
  kept: KeptHere[]
  /** Inputs that were taken although the mirror has not seen their field type: the service may not know it. */
  unseenInputs: number
  requests: { kind: string; partition: string; rows: number; state: string; said: string | null }[]
  back: {
    pages: number
    companies: number
    calculators: number
    values: number
    added: number
    changed: number
    removed: number
  }
  forecast: NightForecast
  /** Our own part, in seconds as measured here: without the time in which requests were with the mirror. */
  ownSeconds: number
  held: RunReport['held']
  remarks: string[]
}

/** So many tasks of earlier nights say how long one takes. */
const tasksLearnedFrom = 5_000

/** Tasks of earlier nights with what they carried; read before the rehearsal adds its own. */
export async function pastTasks(copy: Database): Promise<PastTask[]> {
  const { rows } = await sql<PastTask>`
    select kind, row_count as rows, extract(epoch from terminal_at - accepted_at)::float8 as seconds
    from submission where terminal_at >= accepted_at
    order by submission_id desc limit ${tasksLearnedFrom}`.execute(copy)
  return rows
}

/**
 * Reads from the copy what the rehearsed run came to.
 * @param limit rows that are named of each sort, the newest first.
 * @param knownFields field types that the mirror has seen.
 */
export async function readNight(
  copy: Database,
  {
    report,
    past,
    requires,
    limit,
    knownFields,
  }: {
    report: RunReport
    past: readonly PastTask[]
    requires: Requires
    limit: number
    knownFields: readonly string[]
  },
): Promise<RehearsedNight> {
  const own = new Set(report.submissions.map(({ submission_id }) => submission_id))
  const rejected = await rowsInState(copy, 'rejected', requires, [], {}, limit)
  const invalid = await rowsInState(copy, 'invalid', requires, [], {}, limit)
  const waves = wavesOf(await waveSubmissions(copy, report.run_id))
  const requests = waves.map(({ submissions }) =>
    submissions.map(({ kind, rows }): RehearsedRequest => ({ kind, rows })),
  )
  const searches = report.submissions.filter(({ rows }) => rows === 0).map(({ kind }) => ({ kind, rows: 0 }))
  const spans = waves.map(({ from, to }) => (to === null ? 0 : to.getTime() - from.getTime()))
  const named = ({ stream, partner_id, row_key, content, reason }: ListedRow) => ({
    stream,
    partner_id,
    row_key,
    content,
    reason,
  })
  const sum = (of: (search: RunReport['searches'][number]) => number) =>
    report.searches.reduce((all, one) => all + of(one), 0)
  return {
    run_id: report.run_id,
    verdict: report.verdict,
    streams: report.streams.map(({ stream, sent, confirmed, inferred, rejected, invalid, parked }) => {
      return { stream, sent, confirmed, inferred, rejected, invalid, parked }
    }),
    refused: rejected
      .filter(({ submission_id }) => submission_id !== null && own.has(submission_id))
      .map((row) => ({ ...named(row), code: row.code, ...groundOf(row.code) })),
    kept: invalid.map(named),
    unseenInputs: await unseenInputs(copy, report.run_id, knownFields),
    requests: report.submissions.map(({ kind, partition, rows, state, refusal_reason, task_status }) => {
      return { kind, partition, rows, state: task_status ?? state, said: refusal_reason }
    }),
    back: {
      pages: sum(({ pages }) => pages),
      companies: sum(({ companies }) => companies),
      calculators: sum(({ calculators }) => calculators),
      values: sum(({ values }) => values),
      added: sum(({ added }) => added),
      changed: sum(({ changed }) => changed),
      removed: sum(({ removed }) => removed),
    },
    forecast: forecastNight([...requests, searches], past),
    ownSeconds: Math.max(0, report.duration_ms - spans.reduce((all, span) => all + span, 0)) / 1000,
    held: report.held,
    remarks: report.remarks,
  }
}

async function unseenInputs(copy: Database, runId: number, known: readonly string[]): Promise<number> {
  const { rows } = await sql<{ unseen: number }>`
    select count(*) as unseen
    from ledger row
    join submission on submission.submission_id = row.outcome_submission
    cross join lateral jsonb_object_keys(row.content -> 'inputs') field
    where submission.run_id = ${runId} and row.stream = 'calculator_inputs' and row.accepted_hash = row.desired_hash
      and not lower(field) = any(${known}::text[])`.execute(copy)
  return rows[0]?.unseen ?? 0
}
