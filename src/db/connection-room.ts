import { sql } from 'kysely'
import type { Database } from './database.ts'

/** How many connections our role may have to the database at most, and how many of them are free now. */
type ConnectionRoom = { limit: number; free: number }

/**
 * What the server, the role and the database allow, each less what is in use or reserved; the least counts. Limits of
 * roles and databases do not bind superusers.
 */
export async function connectionRoom(db: Database): Promise<ConnectionRoom> {
  const { rows } = await sql<ConnectionRoom>`
    with us as (
      select r.rolsuper, r.rolname, r.rolconnlimit, d.datname, d.datconnlimit,
        current_setting('max_connections')::int as most,
        coalesce(current_setting('superuser_reserved_connections', true)::int, 0)
          + coalesce(current_setting('reserved_connections', true)::int, 0) as reserved
      from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()
    ), used as (
      select count(*) as by_all,
        count(*) filter (where a.usename = us.rolname) as by_role,
        count(*) filter (where a.datname = us.datname) as in_database
      from pg_stat_activity a, us where a.backend_type = 'client backend'
    ), limits as (
      select most - case when rolsuper then 0 else reserved end as allowed, by_all as taken from us, used
      union all select rolconnlimit, by_role from us, used where rolconnlimit >= 0 and not rolsuper
      union all select datconnlimit, in_database from us, used where datconnlimit >= 0 and not rolsuper
    )
    select min(allowed)::int as limit, min(allowed - taken)::int as free from limits`.execute(db)
  const [room] = rows
  if (room === undefined) throw new Error('the server does not know the role that asks it')
  return room
}
