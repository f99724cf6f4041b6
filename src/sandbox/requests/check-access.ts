import type { CustomProperty } from '../catalogue/accounts.ts'
import { RequestRefused } from '../request-refused.ts'
import type { World } from '../service-world.ts'

/** The custom property with this id that the profile owns, if there is one. */
export function ownedProperty(world: World, profileId: number, id: string): CustomProperty | undefined {
  return world.customProperties.find((property) => property.id === id && property.profileId === profileId)
}

/** Ids of the groups that the profile can use. */
export function groupIdsOf(world: World, profileId: number): string[] {
  return world.groups.filter((group) => group.profileId === profileId).map((group) => group.id)
}

/**
 * @throws {RequestRefused} 403 for a property of another profile or none, 400 for one that is no identifier. Spec gap:
 * what the latter is answered is not said, docs/spec-gaps.md.
 */
export function requireIdentifier(world: World, profileId: number, id: string): void {
  const property = ownedProperty(world, profileId, id)
  if (!property) {
    const message = `The custom identifier ${id} does not belong to a property that this key's profile can use.`
    throw new RequestRefused(403, 'custom_identifier_not_accessible', message)
  }
  if (!property.isIdentifier) {
    throw new RequestRefused(400, 'custom_identifier_invalid', `The custom property ${id} is not an identifier.`)
  }
}

/**
 * The property with this id.
 * @throws {RequestRefused} 403 for a property of another profile or none: the whole request, and not its row alone
 * (specification, Authentication 3).
 */
export function requireProperty(world: World, profileId: number, id: string): CustomProperty {
  const property = ownedProperty(world, profileId, id)
  if (property !== undefined) return property
  const message = `"${id}" is not a custom property that this key's profile can use.`
  throw new RequestRefused(403, 'custom_property_not_accessible', message)
}

/** @throws {RequestRefused} 403 for a group of another profile or none. */
export function requireGroup(world: World, profileId: number, id: string): void {
  if (groupIdsOf(world, profileId).includes(id)) return
  const message = `The group ${id} does not belong to a group that this key's profile can use.`
  throw new RequestRefused(403, 'group_not_accessible', message)
}
