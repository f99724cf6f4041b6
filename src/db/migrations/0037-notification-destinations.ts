import { type Kysely, sql } from 'kysely'

/**
 * What people know of one destination says nothing about another; and which receivers ask to be left alone until when.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table notification add column destination_id integer references destination`.execute(db)
  await sql`
    update notification
    set destination_id = coalesce(
      (select destination_id from run where run.run_id = notification.run_id), destination_in_use())`.execute(db)
  await sql`
    alter table notification
      alter column destination_id set default destination_in_use(),
      alter column destination_id set not null,
      add column held_off jsonb not null default '{}'`.execute(db)
  await sql`comment on column notification.held_off is
    'Receivers that asked to be left alone (Retry-After), and until when'`.execute(db)
}
