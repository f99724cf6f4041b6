import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'

type Timer = { submission_id: number; timer: number }

/** Voids the timer that each submission has and numbers a new one: of looks at a later time only the newest counts. */
export async function nextTimers(trx: Transaction<Schema>, submissionIds: readonly number[]): Promise<Timer[]> {
  const { rows } = await sql<Timer>`
    update submission set timer = timer + 1
    where submission_id = any(${submissionIds}::bigint[])
    returning submission_id, timer`.execute(trx)
  return rows
}
