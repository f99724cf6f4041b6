import pg from 'pg'

/**
 * A pool whose connections may be ended by the server at any moment: a database is dropped as soon as its pool has
 * ended, which a pool says before its connections are closed. An error that nobody listens for would be one of the test
 * that happens to run.
 */
export function testPool(url: string, connections: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
