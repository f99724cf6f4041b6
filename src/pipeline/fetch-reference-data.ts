import { storeReferenceData } from '../db/reference/store-reference-data.ts'
import type { ReferenceKind } from '../db/tables/reference-data.ts'
import type { CustomProperty, Group } from '../exchange/reference-data.ts'
import type { Deps } from './deps.ts'
import { StopRun } from './stop-run.ts'

/**
 * Fetches the reference data and keeps it, unit types first: the cheapest check of the key (Authentication 5).
 * What the configuration names must be among it, or every request of the night would be refused.
 *
 * @throws {StopRun} when the identifier or the group is not one that the key's profile can use.
 */
export async function fetchReferenceData(deps: Deps): Promise<void> {
  const { exchange, now } = deps
  const unitTypes = await exchange.getUnitTypes()
  const groups = await exchange.getGroups()
  const customProperties = await exchange.getCustomProperties()
  checkIdentifier(deps, customProperties)
  checkGroup(deps, groups)
  const frameworks = []
  for (const { id } of await exchange.getFrameworks()) frameworks.push(await exchange.getFramework(id))

  const documents: Record<ReferenceKind, { id: string }[]> = {
    unit_type: unitTypes,
    group: groups,
    custom_property: customProperties,
    framework: frameworks,
  }
  const changed = await deps.db.transaction().execute((trx) => storeReferenceData(trx, documents, now()))
  deps.logger.info({ ...changed }, 'reference_data_fetched')
}

function checkIdentifier({ required }: Deps, properties: CustomProperty[]): void {
  const id = required.customIdentifierId
  const usable = properties.filter((property) => property.isIdentifier && property.isOwnedByInvokingCompany !== false)
  if (usable.some((property) => property.id === id)) return
  const found = properties.find((property) => property.id === id)
  const names = usable.map((property) => `${property.id} (${property.name})`)
  throw new StopRun(
    'identifier_unusable',
    `exchange.customIdentifierId ${id} ${whyUnusable(found)}. Identifiers: ${names.join(', ') || 'none'}`,
  )
}

function whyUnusable(property: CustomProperty | undefined): string {
  if (property === undefined) return 'is not a custom property that this key can use'
  return property.isIdentifier
    ? `belongs to ${property.ownerName ?? 'another profile'}`
    : 'is a custom property, but no identifier'
}

function checkGroup({ required }: Deps, groups: Group[]): void {
  const id = required.groupId
  if (id === null || groups.some((group) => group.id === id)) return
  const usable = groups.map((group) => `${group.id} (${group.name})`)
  throw new StopRun(
    'group_unusable',
    `exchange.groupId ${id} is not a group that this key can use. Groups: ${usable.join(', ') || 'none'}`,
  )
}
