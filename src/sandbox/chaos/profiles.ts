import { fileProfiles } from './file-profiles.ts'
import { malformedPages } from './page-cases/page-cases.ts'
import { type Profile, profilesOf } from './profile.ts'
import { requestProfiles } from './request-profiles.ts'
import { taskProfiles } from './task-profiles.ts'
import { webhookProfiles } from './webhook-profiles.ts'

/** Every profile, family by family: requests, tasks, result files, webhooks. */
export const profiles: readonly Profile[] = [
  ...requestProfiles,
  ...taskProfiles,
  ...fileProfiles,
  ...profilesOf(malformedPages),
  ...webhookProfiles,
]

export const profilesByName: ReadonlyMap<string, Profile> = new Map(profiles.map((profile) => [profile.name, profile]))
