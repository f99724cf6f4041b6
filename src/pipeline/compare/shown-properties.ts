import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Contract } from '../../exchange/contract.ts'

/**
 * Which of the custom properties that a companies search asked for it shows, in lower case: its head lists them, or a
 * company has a value of them. One that the profile does not own is silently left out (specification, Calculator search
 * result page), and that proves nothing of its values.
 * @param search the name of the search in `pull.searches`; it must have ended, and prove what is absent.
 * @param asked in lower case.
 */
export async function shownProperties(
  trx: Transaction<Schema>,
  { names }: Contract,
  search: string,
  asked: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (asked.size === 0) return asked
  const { customProperties, companies, id, fields } = names.companiesPage
  const { rows } = await sql<{ property: string }>`
    select property from unnest(${[...asked]}::text[]) property
    where exists (
        select from document
        where search = ${search} and list = ${customProperties} and removed_at is null
          and lower(document ->> ${id}::text) = property)
      or exists (
        select from (
          select document -> ${fields}::text as fields, search, list, removed_at from document
        ) company
        cross join lateral jsonb_object_keys(case jsonb_typeof(fields) when 'object' then fields else '{}' end) shown
        where search = ${search} and list = ${companies} and removed_at is null and lower(shown) = property)`.execute(
    trx,
  )
  return new Set(rows.map(({ property }) => property))
}
