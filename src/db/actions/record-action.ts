import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { ActionVerb } from '../tables/run-tables.ts'

/** Who acts: the user of the operating system, and the machine. */
export type Actor = { user: string; host: string }

type NewAction = {
  verb: ActionVerb
  actor: Actor
  at: Date
  submissionId?: number
  correlationId?: string | null
  rows: number
  asked?: Record<string, string>
  /** Left out while the service has not answered. */
  result?: string
}

/** Writes down what a person does, in the transaction that does it. */
export async function recordAction(trx: Transaction<Schema>, action: NewAction): Promise<number> {
  const { action_id } = await trx
    .insertInto('action')
    .values({
      verb: action.verb,
      acted_by: action.actor.user,
      host: action.actor.host,
      acted_at: action.at,
      submission_id: action.submissionId ?? null,
      correlation_id: action.correlationId ?? null,
      rows: action.rows,
      asked: JSON.stringify(action.asked ?? {}),
      result: action.result ?? null,
    })
    .returning('action_id')
    .executeTakeFirstOrThrow()
  return action_id
}

/** Writes down one thing that a person does about each of some hotels, by the partner's ids, so that each is traced. */
export async function recordOfHotels(
  trx: Transaction<Schema>,
  { verb, actor, at, asked = {}, result = '' }: Omit<NewAction, 'rows'>,
  partnerIds: readonly string[],
): Promise<void> {
  await sql`
    insert into action (verb, acted_by, host, acted_at, rows, asked, result)
    select ${verb}, ${actor.user}, ${actor.host}, ${at}, 0,
           ${JSON.stringify(asked)}::jsonb || jsonb_build_object('partnerId', partner_id), ${result}
    from unnest(${partnerIds}::text[]) with ordinality as hotel (partner_id, place) order by place`.execute(trx)
}

/** Adds what the service answered to an action that was written down before it was asked. */
export async function recordResult(db: Database, actionId: number, result: string): Promise<void> {
  await db.updateTable('action').set({ result }).where('action_id', '=', actionId).execute()
}
