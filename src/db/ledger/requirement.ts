import { type RawBuilder, sql } from 'kysely'

/** Per stream: the streams whose rows of the same property must be accepted before a row of it is sent. */
export type Requires = Readonly<Record<string, readonly string[]>>

/**
 * Whether a row, which the query must call `row`, lacks something that its stream requires: what is required is there,
 * and all of it is accepted as it stands. What is gone at the partner and was never accepted counts as not there.
 */
export function lacksRequirement(requires: Requires): RawBuilder<boolean> {
  const pairs = Object.entries(requires).flatMap(([stream, names]) => names.map((required) => ({ stream, required })))
  return sql<boolean>`exists (
    select from jsonb_to_recordset(${JSON.stringify(pairs)}::jsonb) as requirement(stream text, required text)
    where requirement.stream = row.stream
      and not exists (
        select from ledger needed
        where needed.stream = requirement.required and needed.partner_id = row.partner_id
          and (needed.gone_at is null or not needed.pending)
        having count(*) > 0 and bool_and(not needed.pending)))`
}
