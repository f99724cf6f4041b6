import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { WholeReason } from '../tables/run-tables.ts'

/** The jobs with the step that sends rows. */
const sendingJobs = ['nightly-sync', 'push']

/**
 * Whether a run sends rows, as `sendsRows` of the jobs says. By such runs people judge what the service was sent, so
 * no other run takes a word away from them.
 * @param run what the table is called.
 */
export function isSendingRun(run: string): RawBuilder<boolean> {
  const [job, asked] = [sql.ref(`${run}.job`), sql.ref(`${run}.asked`)]
  return sql<boolean>`(
    ${job} = any(${sendingJobs}::text[]) and (not ${asked} ? 'only' or ${asked} -> 'only' ? 'push'))`
}

/** The runs of which a report tells what they noticed, and when the first of them began. */
export type SpokenFor = { runIds: number[]; since: Date }

/**
 * The runs that the report of a run speaks for: itself, and, where it sends rows, those that failed since the last one
 * that did so and has a report, at the same destination. A run that fails has no report, and what it noticed once is as
 * it should be for all that come afterwards.
 */
export async function runsSpokenFor(db: Database, runId: number): Promise<SpokenFor> {
  const { rows } = await sql<SpokenFor>`
    select array_agg(spoken.run_id order by spoken.run_id) as "runIds", min(spoken.started_at) as since
    from run speaker join run spoken using (destination_id)
    where speaker.run_id = ${runId}
      and (spoken.run_id = speaker.run_id
        or spoken.state = 'failed' and spoken.run_id < speaker.run_id and ${isSendingRun('speaker')}
          and spoken.run_id > coalesce((
            select max(told.run_id) from run told
            where told.destination_id = speaker.destination_id and told.run_id < speaker.run_id
              and told.state = 'finished' and ${isSendingRun('told')}), 0))
    group by speaker.run_id`.execute(db)
  const [found] = rows
  if (found === undefined) throw new Error(`there is no run ${runId}`)
  return found
}

/** A stream that was read whole, and why. */
export type WholeReading = { stream: string; whole: WholeReason | null; whole_detail: string | null }

/** What runs read whole, each stream and reason once, by the names of the streams. */
export async function wholeReadings(db: Database, runIds: readonly number[]): Promise<WholeReading[]> {
  const { rows } = await sql<WholeReading>`
    select stream, whole, string_agg(distinct whole_detail, '; ') as whole_detail
    from run_stream where run_id = any(${runIds}::bigint[]) and whole is not null
    group by stream, whole
    order by stream`.execute(db)
  return rows
}
