import { sql } from 'kysely'
import type { Database } from './database.ts'

type Question<T> = (db: Database) => Promise<T>

/**
 * How much of the server two questions may take, while a person waits for both.
 *
 * `workers`: other processes of the server share the scans of the first question, for one that reads much and answers
 * little. The server keeps the last word: it starts no more of them than `max_parallel_workers`. Our own server does
 * not do so by itself, because large sorts and joins would need more shared memory than a container has; a count needs
 * little.
 *
 * `apart`: each question has a connection, and both are asked at once, which is quicker; for a process that answers one
 * person and has its connections to itself. Where many ask, each would hold one and wait for another.
 */
export type Hurry = 'none' | 'workers' | 'apart'

/** The statement's own session reads too. */
const workersAsked = 2

/** Asks two questions about the same moment, though rows change between two statements. */
export async function askBoth<A, B>(
  db: Database,
  first: Question<A>,
  second: Question<B>,
  hurry: Hurry = 'none',
): Promise<[A, B]> {
  return await atOneMoment(db, async (trx) => {
    // Another connection may not be had: the server has no more. Then both are asked on this one.
    const beside = hurry === 'apart' ? askBeside(db, await momentOf(trx), second) : null
    // Its error is met below, unless the first question fails before.
    beside?.catch(() => {})
    if (hurry === 'workers') {
      await sql`select set_config('max_parallel_workers_per_gather', ${String(workersAsked)}, true)`.execute(trx)
    }
    const answer = await first(trx)
    return [answer, ((await beside) ?? answered(await second(trx))).answer]
  })
}

function answered<T>(answer: T): { answer: T } {
  return { answer }
}

/** Null where the question could not be asked; where it was and failed, that is the answer. */
async function askBeside<T>(db: Database, moment: string, question: Question<T>): Promise<{ answer: T } | null> {
  let asked = false
  try {
    return await atOneMoment(db, async (trx) => {
      await sql`set transaction snapshot ${sql.lit(moment)}`.execute(trx)
      asked = true
      return answered(await question(trx))
    })
  } catch (error) {
    if (asked) throw error
    return null
  }
}

async function momentOf(trx: Database): Promise<string> {
  const { rows } = await sql<{ moment: string }>`select pg_export_snapshot() as moment`.execute(trx)
  if (rows[0] === undefined) throw new Error('the server exported no snapshot')
  return rows[0].moment
}

async function atOneMoment<T>(db: Database, work: Question<T>): Promise<T> {
  return await db.transaction().setIsolationLevel('repeatable read').execute(work)
}
