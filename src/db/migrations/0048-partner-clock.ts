import { type Kysely, sql } from 'kysely'

/**
 * How far the partner's clock was ahead of this database's when a watermark was taken: where it is less the next time,
 * the partner's clock was put back, and what was written since carries times before the watermark.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table stream_watermark add column partner_ahead_ms double precision`.execute(db)
  await sql`comment on column stream_watermark.partner_ahead_ms is
    'How far the partner''s clock was ahead of this database''s then, in milliseconds; null before it was kept'`.execute(
    db,
  )
}
