import type pg from 'pg'

/** An upsert that the service received for a hotel before any mapping of that hotel was terminal. */
export type OutOfOrder = { identifier: string; path: string; received: number }

const upserts = ['/framework-answers/upsert', '/calculators/upsert', '/companies/upsert', '/standards/holders/upsert']

/** Reads the sandbox's append-only log: dependent rows that were sent before their hotel's mapping was terminal. */
export async function sentTooEarly(sandboxPool: pg.Pool): Promise<OutOfOrder[]> {
  const { rows } = await sandboxPool.query<OutOfOrder>(
    `with line as (select id, path, phase, unnest(identifiers) as identifier from sandbox.request_log),
          mapped as (
            select identifier, min(id) as at from line
            where path like '%/company-mappings' and phase = 'terminal' group by identifier)
     select line.identifier, line.path, line.id as received
     from line left join mapped using (identifier)
     where line.phase = 'received' and line.path like any($1) and (mapped.at is null or mapped.at > line.id)`,
    [upserts.map((path) => `%${path}`)],
  )
  return rows
}

/** How many upserts the log holds: a check of order that found none to check proves nothing. */
export async function upsertsReceived(sandboxPool: pg.Pool): Promise<number> {
  const { rows } = await sandboxPool.query<{ count: number }>(
    `select count(*)::int as count from sandbox.request_log where phase = 'received' and path like any($1)`,
    [upserts.map((path) => `%${path}`)],
  )
  return rows[0]?.count ?? 0
}

/** Pairs of requests of one path that carried the same hotel and were unfinished at the same time. */
export async function unfinishedTogether(sandboxPool: pg.Pool): Promise<object[]> {
  const { rows } = await sandboxPool.query<object>(
    `with task as (
       select correlation_id, path, min(id) filter (where phase = 'received') as received,
              coalesce(min(id) filter (where phase = 'terminal'), 9223372036854775807) as terminal,
              min(identifiers) as identifiers
       from sandbox.request_log where correlation_id is not null and identifiers is not null
       group by correlation_id, path)
     select earlier.path, earlier.correlation_id as earlier, later.correlation_id as later
     from task earlier join task later
       on later.path = earlier.path and later.received > earlier.received and later.received < earlier.terminal
      and later.identifiers && earlier.identifiers`,
  )
  return rows
}
