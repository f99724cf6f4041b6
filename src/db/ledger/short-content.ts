import { type RawBuilder, sql } from 'kysely'

/**
 * Characters of each text that a list of rows or a report shows. Larger makes answers of many rows too large to hold;
 * smaller cuts texts that people would read.
 */
const shownCharacters = 1_000

/**
 * The content of a row with its long texts cut, also those one level down. What is cut says how long it was, and with
 * its hash differs from what begins alike.
 */
export function shortContent(content: RawBuilder<unknown>): RawBuilder<Record<string, unknown>> {
  return sql`(
    select coalesce(jsonb_object_agg(member.key, case jsonb_typeof(member.value)
        when 'object' then (
          select coalesce(jsonb_object_agg(part.key, ${cut(sql`part.value`)}), '{}') from jsonb_each(member.value) part)
        else ${cut(sql`member.value`)} end), '{}')
    from jsonb_each(${content}) member)`
}

function cut(value: RawBuilder<unknown>): RawBuilder<unknown> {
  const text = sql`(${value} #>> '{}')`
  const shown = sql.lit(shownCharacters)
  return sql`case when jsonb_typeof(${value}) = 'string' and length(${text}) > ${shown}
    then to_jsonb(format('%s… (shortened: %s characters, MD5 %s)', left(${text}, ${shown}), length(${text}),
      md5(${text})))
    else ${value} end`
}
