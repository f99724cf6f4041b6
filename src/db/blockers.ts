import type pg from 'pg'

/** A session that holds a lock which another one waits for. */
type Blocker = { pid: number; words: string }

/**
 * Whom the sessions of one application wait for in this database, themselves aside. A transaction without a session is
 * not named.
 */
export async function blockersOf(pool: pg.Pool, application: string): Promise<Blocker[]> {
  const { rows } = await pool.query<{
    pid: number
    application: string
    role: string | null
    host: string | null
    since: string | null
  }>(
    `select distinct b.pid, b.application_name as application, b.usename as role, host(b.client_addr) as host,
       to_char(b.xact_start at time zone 'UTC', 'HH24:MI:SS') as since
     from pg_stat_activity w
     cross join lateral unnest(pg_blocking_pids(w.pid)) as blocking(pid)
     join pg_stat_activity b on b.pid = blocking.pid
     where w.datname = current_database() and w.application_name = $1 and b.application_name <> $1`,
    [application],
  )
  return rows.map(({ pid, application: name, role, host, since }) => {
    const parts = [
      name === '' ? 'a client without a name' : name,
      role !== null && `role ${role}`,
      host !== null && `from ${host}`,
      since !== null && `in a transaction since ${since} UTC`,
    ]
    return { pid, words: `server process ${pid} (${parts.filter(Boolean).join(', ')})` }
  })
}
