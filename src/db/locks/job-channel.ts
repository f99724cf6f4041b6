import type pg from 'pg'

/** Where a notification asks for a run: its payload is the name of a job; empty: look at the table of requests. */
const channel = 'nightferry_jobs'

/** The session-wide lock of the one process that acts on payloads, so that one notification asks for one run. */
const leaderLock = [4_711_013, 1]

/**
 * Hears what is told on the channel until `signal` aborts or the connection is lost.
 * @param onJob called with the payload, in one process of all that listen.
 * @throws what broke the connection.
 */
export async function hearJobs(
  pool: pg.Pool,
  {
    onWake,
    onJob,
    signal,
    retryMs,
  }: {
    onWake: () => void
    onJob: (job: string) => void
    signal: AbortSignal
    retryMs: number
  },
): Promise<void> {
  const client = await pool.connect()
  let leads = false
  let lead: NodeJS.Timeout | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('error', reject)
      client.once('end', () => reject(new Error('the connection that listens was lost')))
      client.on('notification', ({ payload }) => {
        if (payload === undefined || payload === '') onWake()
        else if (leads) onJob(payload)
      })
      signal.addEventListener('abort', () => resolve(), { once: true })
      if (signal.aborted) resolve()
      const tryToLead = async () => {
        const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
          ...leaderLock,
        ])
        leads = rows[0]?.locked === true
        if (leads) clearInterval(lead)
      }
      lead = setInterval(() => void tryToLead().catch(reject), retryMs)
      client.query(`listen ${channel}`).then(tryToLead).then(onWake).catch(reject)
    })
  } finally {
    clearInterval(lead)
    client.removeAllListeners('notification')
    // Thrown away: it listens and may have the lock.
    client.release(true)
  }
}
