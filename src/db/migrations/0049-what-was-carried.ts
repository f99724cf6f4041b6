import { type Kysely, sql } from 'kysely'

/**
 * Whether a run carried the data through, and how much there was of what people were told: both say nothing of runs
 * and messages before, but for what the messages themselves say.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run add column carried boolean`.execute(db)
  await sql`comment on column run.carried is
    'Whether it carried the data through; null unless it finished, and before this was kept'`.execute(db)
  await sql`alter table notification add column amounts jsonb`.execute(db)
  await sql`comment on column notification.amounts is
    'How much there was of each kind when it was told, or since then at the least'`.execute(db)
  // The rejected rows among the causes are also those that were rejected before.
  await sql`
    update notification
    set amounts = (message -> 'numbers') - '{sent,confirmed,inferred,duration_ms}'::text[] || coalesce((
          select jsonb_build_object('rejected', named.cause -> 'rows')
          from jsonb_array_elements(message -> 'causes') named (cause)
          where named.cause ->> 'what' = 'rejected by the service'), '{}')
    where event = 'partial' and jsonb_typeof(message -> 'numbers') = 'object'`.execute(db)
}
