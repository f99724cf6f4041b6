import { sql, type Transaction } from 'kysely'
import type pg from 'pg'
import type { Schema } from '../tables/database-schema.ts'

/** First halves of the keys of our advisory locks; the second half is the id of what is locked. */
const lockClass = { run: 4_711_010, submission: 4_711_011, page: 4_711_012 } as const

/**
 * Runs `work` as the only one looking at a submission. While another look does, or a process that died without its
 * connection being noticed seems to, nothing is done and the answer is false.
 * The lock belongs to the connection, so it ends with its holder, however that dies; should the connection die before
 * its holder, `lockLost` aborts, and what must not go on without the lock stops.
 */
export function withSubmissionLock(
  pool: pg.Pool,
  submissionId: number,
  work: (lockLost: AbortSignal) => Promise<void>,
): Promise<boolean> {
  return withLock(pool, lockClass.submission, submissionId, 'try', work)
}

/**
 * The same for a person, who waits until the look at work is done.
 * @returns false when it was not done within `waitMs`.
 */
export function withSubmissionLockWaiting(
  pool: pg.Pool,
  submissionId: number,
  waitMs: number,
  work: () => Promise<void>,
): Promise<boolean> {
  return withLock(pool, lockClass.submission, submissionId, { waitMs }, work)
}

/** The same for a page. */
export function withPageLock(pool: pg.Pool, pageId: number, work: () => Promise<void>): Promise<boolean> {
  return withLock(pool, lockClass.page, pageId, 'try', work)
}

/** The same for a run, but waits: a look at a run that is passed over could miss what happened in between. */
export async function withRunLock(pool: pg.Pool, runId: number, work: () => Promise<void>): Promise<void> {
  await withLock(pool, lockClass.run, runId, 'wait', work)
}

type Patience = 'try' | 'wait' | { waitMs: number }

async function withLock(
  pool: pg.Pool,
  group: number,
  id: number,
  patience: Patience,
  work: (lockLost: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const client = await pool.connect()
  const lost = new AbortController()
  const lose = () => lost.abort(new Error('the connection that had the lock was lost'))
  client.once('error', lose).once('end', lose)
  let broken = true
  try {
    if (!(await obtained(client, group, id, patience))) {
      broken = false
      return false
    }
    try {
      await work(lost.signal)
      return true
    } finally {
      await client.query('select pg_advisory_unlock($1, $2)', [group, id])
      broken = false
    }
  } finally {
    client.off('error', lose).off('end', lose)
    client.release(broken)
  }
}

async function obtained(client: pg.PoolClient, group: number, id: number, patience: Patience): Promise<boolean> {
  if (patience === 'try') {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
      group,
      id,
    ])
    return rows[0]?.locked === true
  }
  if (patience === 'wait') {
    await client.query('select pg_advisory_lock($1, $2)', [group, id])
    return true
  }
  // The limit belongs to the transaction, the lock to the connection: it stays when the transaction ends.
  await client.query('begin')
  try {
    await client.query(`select set_config('lock_timeout', $1, true)`, [`${Math.max(1, Math.trunc(patience.waitMs))}ms`])
    await client.query('select pg_advisory_lock($1, $2)', [group, id])
    await client.query('commit')
    return true
  } catch (error) {
    await client.query('rollback')
    if ((error as { code?: unknown }).code === lockNotAvailable) return false
    throw error
  }
}

const lockNotAvailable = '55P03'

/** Beside the classes of those above. */
const loading = 4_711_013
const naming = 4_711_014

/**
 * Waits for the lock on what searches brought, and holds it until the transaction ends. Pages are loaded side by side
 * under the shared one, as long as none touches what another may have seen; anyone who does takes the exclusive one.
 */
export async function lockLoading(trx: Transaction<Schema>, mode: 'shared' | 'exclusive'): Promise<void> {
  if (mode === 'shared') await sql`select pg_advisory_xact_lock_shared(${loading}, 0)`.execute(trx)
  else await sql`select pg_advisory_xact_lock(${loading}, 0)`.execute(trx)
}

/** Waits for its turn to make rows of variables and custom properties, and holds it until the transaction ends. */
export async function lockNames(trx: Transaction<Schema>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${naming}, 0)`.execute(trx)
}
