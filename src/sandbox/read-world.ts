import type { Queryable } from './running-sandbox.ts'

/** What a start reads of the world that it serves. */
type World = {
  /** Signs the addresses of result files. */
  fileSecret: Buffer
  /** Companies that the service knows. */
  knownCompanies: number
}

export async function readWorld(db: Queryable): Promise<World> {
  const { rows } = await db.query<{ file_secret: Buffer; known: number }>(
    'select file_secret, (select count(*)::int from sandbox.company) as known from sandbox.world',
  )
  const [world] = rows
  if (!world) throw new TypeError('sandbox.world is empty; it is filled when the world is seeded')
  return { fileSecret: world.file_secret, knownCompanies: world.known }
}

/** The latest time, in milliseconds since 1970, of which this database knows that it was the sandbox's; 0: none. */
export async function readLatestTime(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ at: Date | null }>(
    'select greatest((select clock_at from sandbox.world), (select max(at) from sandbox.request_log)) as at',
  )
  return rows[0]?.at?.getTime() ?? 0
}

/** Keeps the time, so that the next start does not go back behind it even where no request was logged since. */
export async function keepTime(db: Queryable, now: number): Promise<void> {
  await db.query('update sandbox.world set clock_at = greatest(clock_at, $1)', [new Date(now)])
}
