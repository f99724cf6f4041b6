import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** What a server answers that is only like PostgreSQL, or that does not let our role ask. */
const cannotTell = new Set(['42501', '42883', '42P01', '42703', '0A000'])

/**
 * Which copy of our database this is: the cluster, its timeline, the database's own number and that of a table. A
 * restore of files begins another timeline, and one of a dump makes another table.
 * @returns null where the server does not tell.
 */
export async function copyInUse(db: Database): Promise<string | null> {
  try {
    const { rows } = await sql<{ copy: string }>`
      select concat_ws('/', (select system_identifier from pg_control_system()),
                            (select timeline_id from pg_control_checkpoint()),
                            (select oid from pg_database where datname = current_database()),
                            'run'::regclass::oid) as copy`.execute(db)
    return rows[0]?.copy ?? null
  } catch (error) {
    if (!cannotTell.has((error as { code?: string }).code ?? '')) throw error
    return null
  }
}

/**
 * Notes on a run which copy of our database it is stored in.
 * @returns the newest earlier run that says so, if that was another copy: a backup came back since, or the database was
 *   moved. Null otherwise.
 */
export async function runOfOtherCopy(db: Database, runId: number): Promise<number | null> {
  const copy = await copyInUse(db)
  if (copy === null) return null
  await db.updateTable('run').set({ own_database: copy }).where('run_id', '=', runId).execute()
  const earlier = await db
    .selectFrom('run')
    .select(['run_id', 'own_database'])
    .where('run_id', '<', runId)
    .where('own_database', 'is not', null)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return earlier === undefined || earlier.own_database === copy ? null : earlier.run_id
}

/** The newest run that says in which copy it ended; null where none does. */
export async function newestCopy(db: Database): Promise<{ runId: number; copy: string } | null> {
  const found = await db
    .selectFrom('run')
    .select(['run_id', 'own_database'])
    .where('own_database', 'is not', null)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.own_database == null ? null : { runId: found.run_id, copy: found.own_database }
}
