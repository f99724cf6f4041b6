import type pg from 'pg'

/** Runs `work` in one transaction. A connection on which it failed is closed: a COPY may have been cut off on it. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let failed = true
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    failed = false
    return result
  } finally {
    client.release(failed)
  }
}
