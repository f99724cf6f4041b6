import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { type Requires, requirementTable } from './requirements.ts'

/** Whether a pending row is sent by no run before it changes, or a person lets it go. */
const isStuck = (row: string): RawBuilder<boolean> => {
  const column = (name: string) => sql.ref(`${row}.${name}`)
  return sql<boolean>`(${column('invalid_reason')} is not null or ${column('guard_run')} is not null
    or coalesce(${column('refused_hash')} = ${column('desired_hash')}, false))`
}

/**
 * How many pending rows of some streams a run that is sending has yet to send, those in flight among them: not what is
 * invalid, rejected or held, nor what requires such a row or one that is not there, nor what waits for a task that runs
 * no longer wait for. What requires rows that are still to be sent counts: it follows them.
 */
export async function rowsToGo(db: Database, requires: Requires, streams: readonly string[]): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select coalesce(sum(rows), 0)::float8 as rows
    from (
      select row.stream, row.partner_id, count(*) as rows
      from ledger row
      where row.stream = any(${streams}::text[]) and row.pending and row.gone_at is null and not ${isStuck('row')}
      group by row.stream, row.partner_id
      -- What it requires is asked once a property, not once a row.
      offset 0
    ) property
    where not exists (
        select from ${requirementTable(closed(requires))}
        where requirement.stream = property.stream
          and not exists (
            select from ledger needed
            where needed.stream = requirement.required and needed.partner_id = property.partner_id
              and (needed.gone_at is null or not needed.pending)
            having count(*) > 0 and not bool_or(needed.pending and ${isStuck('needed')})))
      and not exists (
        select from held_property held join submission using (submission_id)
        where held.partner_id = property.partner_id and held.stream = property.stream
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
