import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { failedWithOther } from './failed-with-other.ts'
import { behindRequest } from './overdue-request.ts'
import { type Requires, requirementTable } from './requirements.ts'
import { isSuspended } from './suspended-hotels.ts'
import { wasTried } from './was-tried.ts'

/**
 * Whether a pending row is not sent by this run, or not once more: before it changes or a person lets it go, or because
 * the run has sent it as it is, whatever became of it. The halves of what was too large carry it again.
 */
const isStuck = (row: string, runId: number, together: readonly (readonly string[])[]): RawBuilder<boolean> => {
  const column = (name: string) => sql.ref(`${row}.${name}`)
  const byStream = together.flatMap((streams) => streams.map((stream) => ({ stream, streams })))
  const kindStreams = sql`(
    select streams from jsonb_to_recordset(${JSON.stringify(byStream)}::jsonb) as kind(stream text, streams text[])
    where kind.stream = ${column('stream')})::text[]`
  return sql<boolean>`(${column('invalid_reason')} is not null or ${column('guard_run')} is not null
    or (coalesce(${column('refused_hash')} = ${column('desired_hash')}, false)
      and not ${failedWithOther(row, kindStreams)})
    or (${column('held_by')} is null and ${wasTried(row, runId, sql`last.too_large`)}))`
}

/**
 * How many pending rows of some streams a run that is sending has yet to send, those in flight among them: not what is
 * invalid, rejected or held, nor what requires such a row or one that is not there, nor what waits for a task that runs
 * no longer wait for, nor what is of a suspended hotel. What requires rows that are still to be sent counts: it follows
 * them.
 * @param together the streams of each kind of which the service takes all rows of a property in a request, or none.
 */
export async function rowsToGo(
  db: Database,
  runId: number,
  requires: Requires,
  streams: readonly string[],
  together: readonly (readonly string[])[],
): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select coalesce(sum(rows), 0)::float8 as rows
    from (
      select row.stream, row.partner_id, count(*) as rows
      from ledger row
      where row.stream = any(${streams}::text[]) and row.pending and row.gone_at is null
        and not ${isStuck('row', runId, together)}
        -- By their keys: a join would read all of a large ledger for the few that are pending.
        and row.row_id = any(array(select row_id from acceptance where accepted_hash is distinct from wanted_hash))
      group by row.stream, row.partner_id
      -- What it requires is asked once a property, not once a row.
      offset 0
    ) row
    where not exists (
        select from ${requirementTable(closed(requires))}
        where requirement.stream = row.stream
          and not exists (
            select from ledger needed
            where needed.stream = requirement.required and needed.partner_id = row.partner_id
              and (needed.gone_at is null or not needed.pending)
            having count(*) > 0 and not bool_or(needed.pending and ${isStuck('needed', runId, together)})))
      and ${behindRequest} is null
      -- What is in flight of a hotel that was suspended since is still to come.
      and (not ${isSuspended()} or exists (
        select from held_property held where held.partner_id = row.partner_id and held.stream = row.stream))
      and not exists (
        select from ${requirementTable(closed(requires))}
        join held_property held on held.stream = requirement.required
        join submission using (submission_id)
        where requirement.stream = row.stream and held.partner_id = row.partner_id
          and submission.overdue_since is not null)`.execute(db)
  return rows[0]?.rows ?? 0
}

/** With what the required streams require themselves: a row that is stuck keeps back all that follows it. Pure. */
function closed(requires: Requires): Requires {
  const all = (stream: string): string[] => {
    const found = new Set(requires[stream])
    // What is added meanwhile is gone over as well.
    for (const required of found) for (const further of requires[required] ?? []) found.add(further)
    return [...found]
  }
  return Object.fromEntries(Object.keys(requires).map((stream) => [stream, all(stream)]))
}
