import { groupIdsOf, requireProperty } from '../requests/check-access.ts'
import type { CompanyReference } from '../requests/read-answers.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Queryable } from '../running-sandbox.ts'
import type { World } from '../service-world.ts'
import { isStorable } from '../storable-text.ts'
import type { Failure, Work } from './work.ts'

export type Resolved = { companyId: string; failure: null } | { companyId: null; failure: Failure }

/**
 * The companies that references name, in the same order. A reference is a company id, or a value of one of the
 * profile's own properties, of any type; the company must be in one of the groups `groupIds`, by default all of the
 * profile's.
 */
export async function resolveCompanies(
  db: Queryable,
  { sandbox, profileId }: Pick<Work, 'sandbox' | 'profileId'>,
  references: readonly CompanyReference[],
  groupIds: readonly string[] = groupIdsOf(sandbox.world, profileId),
): Promise<Resolved[]> {
  const holders = await findHolders(db, sandbox.world, references)
  const known = await findKnown(db, references)
  const named = references.map((reference): Resolved => {
    if ('companyId' in reference) {
      const companyId = reference.companyId.toLowerCase()
      return known.has(companyId)
        ? { companyId, failure: null }
        : failed('company_not_found', `No company has the id "${reference.companyId}".`)
    }
    const property = requireProperty(sandbox.world, profileId, reference.propertyId)
    const [companyId, ...others] = holders.get(keyOf(reference)) ?? []
    if (companyId === undefined) {
      return failed('company_not_found', `No company has the value "${reference.value}" of "${property.name}".`)
    }
    if (others.length > 0) {
      const message = `Several companies have the value "${reference.value}" of "${property.name}".`
      return failed('company_ambiguous', message)
    }
    return { companyId, failure: null }
  })
  return checkGroups(db, named, groupIds)
}

function failed(reason: string, message: string): Resolved {
  return { companyId: null, failure: { reason, message } }
}

function keyOf(reference: { propertyId: string; value: string }): string {
  return `${reference.propertyId} ${reference.value}`
}

/** Companies by property and value, no matter who owns the property. */
async function findHolders(
  db: Queryable,
  world: World,
  references: readonly CompanyReference[],
): Promise<Map<string, string[]>> {
  const valuesByProperty = new Map<string, Set<string>>()
  for (const reference of references) {
    if ('companyId' in reference || !isStorable(reference.value)) continue
    const values = valuesByProperty.get(reference.propertyId) ?? new Set()
    valuesByProperty.set(reference.propertyId, values.add(reference.value))
  }
  const holders = new Map<string, string[]>()
  for (const [propertyId, values] of valuesByProperty) {
    const property = world.customProperties.find(({ id }) => id === propertyId)
    if (!property) continue
    const { rows } = await db.query<{ value: string; company_id: string }>(
      property.isIdentifier
        ? 'select value, company_id from sandbox.identifier where property_id = $1 and value = any($2)'
        : 'select distinct value, company_id from sandbox.property_value where property_id = $1 and value = any($2)',
      [propertyId, [...values]],
    )
    for (const row of rows) {
      const key = keyOf({ propertyId, value: row.value })
      holders.set(key, [...(holders.get(key) ?? []), row.company_id])
    }
  }
  return holders
}

async function findKnown(db: Queryable, references: readonly CompanyReference[]): Promise<Set<string>> {
  const ids = references.flatMap((reference) => ('companyId' in reference ? [reference.companyId] : [])).filter(isUuid)
  if (ids.length === 0) return new Set()
  const { rows } = await db.query<{ id: string }>('select id from sandbox.company where id = any($1)', [ids])
  return new Set(rows.map((row) => row.id))
}

async function checkGroups(db: Queryable, named: Resolved[], groupIds: readonly string[]): Promise<Resolved[]> {
  const ids = named.flatMap((resolved) => (resolved.companyId === null ? [] : [resolved.companyId]))
  const { rows } = await db.query<{ company_id: string }>(
    'select company_id from sandbox.group_company where group_id = any($1) and company_id = any($2)',
    [groupIds, ids],
  )
  const accessible = new Set(rows.map((row) => row.company_id))
  return named.map((resolved) =>
    resolved.companyId === null || accessible.has(resolved.companyId)
      ? resolved
      : failed('company_not_accessible', `The company ${resolved.companyId} is not accessible to this key's profile.`),
  )
}
