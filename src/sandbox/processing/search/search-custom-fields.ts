import { ownedProperty } from '../../requests/check-access.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { Work } from '../work.ts'

/** How a page spells custom properties and their values. */
type FieldNames = { customProperties: string; id: string; name: string; fields: string }

type CustomFields = {
  /** The head's list of custom properties; nothing when none were requested. */
  head: Record<string, unknown>
  /** A company's member with its values; nothing when it has none of what was requested. */
  read(db: Queryable, companyIds: readonly string[]): Promise<(companyId: string) => Record<string, unknown>>
}

/**
 * The requested custom properties that the profile owns, in the request's order; the others are silently left out
 * (specification, Calculator search result page). `requested` null: none were asked for.
 */
export function createCustomFields(
  { sandbox, profileId }: Work,
  requested: readonly string[] | null,
  names: FieldNames,
): CustomFields {
  const owned = (requested ?? []).flatMap((id) => ownedProperty(sandbox.world, profileId, id) ?? [])
  const propertyIds = owned.map(({ id }) => id)
  const listed = owned.map(({ id, name }) => ({ [names.id]: id, [names.name]: name }))
  return {
    head: requested === null ? {} : { [names.customProperties]: listed },
    read: async (db, companyIds) => {
      const found = await readValues(db, companyIds, propertyIds)
      return (companyId) => {
        const fields = found.get(companyId)
        return fields ? { [names.fields]: fields } : {}
      }
    },
  }
}

/** Values by property, by company. */
async function readValues(
  db: Queryable,
  companyIds: readonly string[],
  propertyIds: readonly string[],
): Promise<Map<string, Record<string, string[]>>> {
  const found = new Map<string, Record<string, string[]>>()
  if (propertyIds.length === 0) return found
  const { rows } = await db.query<{ company_id: string; property_id: string; values: string[] }>(
    `select company_id, property_id, array_agg(value order by value collate "C") as values
     from sandbox.identifier where company_id = any($1) and property_id = any($2) group by 1, 2
     union all
     select company_id, property_id, array_agg(value order by ordinal)
     from sandbox.property_value where company_id = any($1) and property_id = any($2) group by 1, 2`,
    [companyIds, propertyIds],
  )
  for (const row of rows) {
    found.set(row.company_id, { ...found.get(row.company_id), [row.property_id]: row.values })
  }
  return found
}
