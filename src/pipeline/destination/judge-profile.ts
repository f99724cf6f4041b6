import type { KnownProfile } from './find-destination.ts'

/** What a key shows of its profile now: ids in small letters. */
type ShownProfile = {
  groups: readonly string[]
  owned: readonly string[]
  /** Correlation ids of the newest tasks that it may read. */
  tasks: readonly string[]
}

export type ProfileVerdict = {
  profile: 'same' | 'other' | 'unsure'
  certainty: 'certain' | 'likely'
  /** What shows it, as a clause. */
  evidence: string
}

/**
 * Whether a key acts as the profile that is known of a destination. The service names a key's profile nowhere, so what
 * it may use has to show it. Pure.
 *
 * A custom property has one owner, so one that is owned before and now proves the profile, and owned ones of which none
 * is left prove another. A task of ours in the list shows that the key reads our tasks. Groups may be shared between
 * profiles: the same ones make it likely. Spec gap: docs/spec-gaps.md, which profile a key acts as.
 */
export function judgeProfile(known: KnownProfile, shown: ShownProfile): ProfileVerdict {
  const owned = common(known.owned, shown.owned)
  if (owned > 0) {
    return same('certain', `it owns ${owned} of the ${known.owned.length} custom properties that the profile owned`)
  }
  const tasks = common(known.tasks, shown.tasks)
  if (tasks > 0) return same('likely', `the task list shows ${tasks} of the tasks that were sent there`)
  if (known.owned.length > 0 && shown.owned.length > 0) {
    return other('certain', `it owns none of the ${known.owned.length} custom properties that the profile owned`)
  }
  const groups = common(known.groups, shown.groups)
  if (groups > 0 && groups === known.groups.length) {
    return same('likely', `it may use all of the ${groups} groups that the profile could use`)
  }
  if (known.groups.length > 0 && shown.groups.length > 0 && groups === 0) {
    return other('likely', `it may use none of the ${known.groups.length} groups that the profile could use`)
  }
  return { profile: 'unsure', certainty: 'likely', evidence: 'nothing that it shows says which profile it is' }
}

function same(certainty: ProfileVerdict['certainty'], evidence: string): ProfileVerdict {
  return { profile: 'same', certainty, evidence }
}

function other(certainty: ProfileVerdict['certainty'], evidence: string): ProfileVerdict {
  return { profile: 'other', certainty, evidence }
}

function common(known: readonly string[], shown: readonly string[]): number {
  const ids = new Set(shown)
  return known.filter((id) => ids.has(id)).length
}
