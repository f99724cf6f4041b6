import { uuidFrom } from '../uuid-from.ts'

/** A profile acts at the service through its API keys, and owns groups and custom properties. */
export type Profile = { id: number; name: string }
export type ApiKey = { id: string; key: string; profileId: number }
export type Group = { id: string; name: string; profileId: number }
export type CustomProperty = {
  id: string
  name: string
  type: 'String' | 'Number'
  isIdentifier: boolean
  profileId: number
}

export const demoProfile: Profile = { id: 4711, name: 'Northern Lights Hotels' }
const otherProfile: Profile = { id: 4712, name: 'Harbour & Hill Collection' }
/** Owns certification applications, and no group or property. */
export const certifierProfile: Profile = { id: 4713, name: 'Verity Certification' }
export const profiles: readonly Profile[] = [demoProfile, otherProfile, certifierProfile]

export const apiKeys: readonly ApiKey[] = [
  { id: uuidFrom('api key demo-key'), key: 'demo-key', profileId: demoProfile.id },
  // A second integration of the same profile.
  { id: uuidFrom('api key sibling-key'), key: 'sibling-key', profileId: demoProfile.id },
  { id: uuidFrom('api key other-key'), key: 'other-key', profileId: otherProfile.id },
  { id: uuidFrom('api key certifier-key'), key: 'certifier-key', profileId: certifierProfile.id },
]

export const demoGroup: Group = { id: uuidFrom('group all hotels'), name: 'All hotels', profileId: demoProfile.id }
export const otherGroup: Group = { id: uuidFrom('group harbour'), name: 'Harbour hotels', profileId: otherProfile.id }
export const groups: readonly Group[] = [demoGroup, otherGroup]

function property(name: string, type: CustomProperty['type'], isIdentifier: boolean, owner: Profile): CustomProperty {
  return { id: uuidFrom(`custom property ${owner.id} ${name}`), name, type, isIdentifier, profileId: owner.id }
}

export const partnerIdProperty = property('Partner id', 'String', true, demoProfile)
export const brandProperty = property('Brand', 'String', false, demoProfile)
export const roomsProperty = property('Rooms', 'Number', false, demoProfile)
export const otherIdentifierProperty = property('House number', 'String', true, otherProfile)
export const customProperties: readonly CustomProperty[] = [
  partnerIdProperty,
  brandProperty,
  roomsProperty,
  otherIdentifierProperty,
]
