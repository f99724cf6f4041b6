import { type RawBuilder, sql } from 'kysely'

/**
 * Characters of each text that a list of rows or a report shows. Larger makes answers of many rows too large to hold;
 * smaller cuts texts that people would read.
 */
const shownCharacters = 1_000

/** Whether long texts are cut, as answers over HTTP and reports have it, or whole, as lists of verbs do. */
export type Texts = 'short' | 'whole'

/**
 * The content of a row, with its long texts cut, also those one level down. What is cut says how long it was, and with
 * its hash differs from what begins alike.
 */
export function shownContent(content: RawBuilder<unknown>, texts: Texts): RawBuilder<unknown> {
  if (texts === 'whole') return content
  return sql`(
    select coalesce(jsonb_object_agg(member.key, case jsonb_typeof(member.value)
        when 'object' then (
          select coalesce(jsonb_object_agg(part.key, ${cut(sql`part.value`)}), '{}') from jsonb_each(member.value) part)
        else ${cut(sql`member.value`)} end), '{}')
    from jsonb_each(${content}) member)`
}

/** A text by itself, which is cut in the same way. */
export function shownText(text: RawBuilder<unknown>, texts: Texts): RawBuilder<unknown> {
  return texts === 'whole' ? text : cutText(text, shownCharacters)
}

/** The beginning of a text that is longer than so many characters, with its length and its hash. */
export function cutText(text: RawBuilder<unknown>, characters: number): RawBuilder<string | null> {
  const most = sql.lit(characters)
  return sql`case when length(${text}) > ${most}
    then format('%s… (shortened: %s characters, MD5 %s)', left(${text}, ${most}), length(${text}), md5(${text}))
    else ${text} end`
}

function cut(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when jsonb_typeof(${value}) = 'string'
    then to_jsonb(${shownText(sql`(${value} #>> '{}')`, 'short')}) else ${value} end`
}
