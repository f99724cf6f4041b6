import { type Kysely, sql } from 'kysely'

/**
 * By which query each stream was last read: of streams that were read before nobody can say. And two rows that
 * contradict each other under one id, which they spell in capitals and in small letters. And which parts of a row
 * contradict themselves: the others say nothing of these when they come again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table stream_reading add column query_digest text`.execute(db)
  await sql`alter table source_row add column contradicting_parts jsonb`.execute(db)
  await sql`
    alter table row_finding drop constraint row_finding_kind_check, add constraint row_finding_kind_check
      check (kind in ('answered_and_declined', 'two_frameworks', 'two_partner_ids', 'two_spellings',
                      'partner_ids_alike', 'coordinates_zero', 'field_type_unseen'))`.execute(db)
  await sql`drop index row_finding_contradiction`.execute(db)
  await sql`
    create index row_finding_contradiction on row_finding (row_id)
    where kind in ('answered_and_declined', 'two_frameworks', 'two_partner_ids', 'two_spellings')`.execute(db)
}
