import type { Contract } from '../../exchange/contract.ts'
import { instantOf, objectOf } from '../../exchange/wire-value.ts'
import { text } from '../streams/rules/row-content.ts'
import type { Expected, SentRow, Stored, StoredThings } from './stored.ts'

/**
 * The custom property values of one company on a page of the companies search, which are laid out like `fields` on a
 * calculator page; null where they are not. Pure.
 */
export function readFields(contract: Contract, documents: readonly unknown[]): StoredThings | null {
  const names = contract.names.companiesPage
  const things = new Map<string, Stored>()
  for (const document of documents) {
    const company = objectOf(document)
    if (company === null) return null
    const fields = company[names.fields] === undefined ? {} : objectOf(company[names.fields])
    if (fields === null) return null
    for (const [property, values] of Object.entries(fields)) {
      if (!Array.isArray(values) || values.some((value) => typeof value !== 'string')) return null
      things.set(property.toLowerCase(), {
        values: values as string[],
        changedAt: instantOf(company[names.changedAt]),
      })
    }
  }
  return things
}

/** What a custom property value should have left there; null where the search did not ask for the property. Pure. */
export function expectedValue(row: SentRow, asked: ReadonlySet<string>): Expected | null {
  const property = text(row.content, 'property_id')?.toLowerCase()
  const value = text(row.content, 'value')
  if (property === undefined || value === null || value.trim() === '' || !asked.has(property)) return null
  return { thing: property, value, shown: value }
}

/** What a mapping should have left there: the partner's id under the identifier. Pure. */
export function expectedIdentifier(row: SentRow, identifier: string): Expected {
  // Other partner ids of the company stand beside it, so each is a thing of its own.
  return { thing: `${identifier} ${row.partner_id}`, value: row.partner_id, shown: row.partner_id }
}

/** The same page, with each value of the identifier as a thing of its own. Pure. */
export function identifiersOf(things: StoredThings, identifier: string): StoredThings {
  const values = things.get(identifier)?.values ?? []
  return new Map(values.map((value) => [`${identifier} ${value}`, { values: [value], changedAt: null }]))
}
