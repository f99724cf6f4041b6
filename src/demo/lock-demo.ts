import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** The demo's databases are in use, so it must not make them new. */
class DemoInUse extends Error {
  readonly code = 'demo_in_use'
}

/** Locks are the database's own, so one constant is enough; this one is in `postgres`, which no demo drops. */
const lockKey = [4_711_021, 1] as const
/** Sessions of a process that ended just now are gone within this time. Milliseconds. */
const lingeringMs = 3_000
const pauseMs = 100

/**
 * Takes the embedded server of a folder for one demo, for as long as this process lives: a session's advisory lock ends
 * with the process that has it.
 * @param adminUrl of the database `postgres`.
 * @param databases that the demo makes new. Nobody may be connected to one of them.
 * @throws {DemoInUse} naming who has them.
 */
export async function lockDemo(
  adminUrl: string,
  databases: readonly string[],
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const client = new pg.Client({
    connectionString: adminUrl,
    application_name: `nightferry demo, process ${process.pid}`,
    connectionTimeoutMillis: 30_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const giveUpAt = performance.now() + lingeringMs
    for (;;) {
      const refusal = (await demoAtWork(client)) ?? (await strangersIn(client, databases))
      if (refusal === null) return { [Symbol.asyncDispose]: () => client.end().catch(() => {}) }
      if (performance.now() > giveUpAt) throw new DemoInUse(refusal)
      await delay(pauseMs, undefined, { signal })
    }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

async function demoAtWork(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
    ...lockKey,
  ])
  if (rows[0]?.locked === true) return null
  const { rows: holders } = await client.query<{ name: string }>(
    `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and l.classid::bigint = $1 and l.objid::bigint = $2`,
    [...lockKey],
  )
  const name = holders[0]?.name ?? 'another one'
  return `A demo is at work in this folder already (${name}). Wait until it has ended, or start this one in another folder: each folder has a server of its own.`
}

async function strangersIn(client: pg.Client, databases: readonly string[]): Promise<string | null> {
  const { rows } = await client.query<{ database: string; name: string }>(
    `select distinct datname as database, coalesce(nullif(application_name, ''), 'a client without a name') as name
     from pg_stat_activity where datname = any ($1) and backend_type = 'client backend' order by 1, 2`,
    [databases],
  )
  if (rows.length === 0) return null
  const who = rows.map(({ database, name }) => `${name} (${database})`).join(', ')
  return `The demo makes its databases new, and they are in use by ${who}. End that first, or start the demo in another folder.`
}
