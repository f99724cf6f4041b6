import { type Slice, type Spell, spellOf } from './night-processors.ts'

/** Moments of a submission, as times of `Date.now()`. */
export type SubmissionTimes = {
  submissionId: number
  search: boolean
  plannedAt: number
  /** When the transaction that planned it, and others of its kind, was committed: nobody could send it before. */
  committedAt: number
  attemptedAt: number
  acceptedAt: number
  /** When the service had finished with it, by the service's own records. */
  finishedAt: number
  terminalAt: number
  settledAt: number
}

export type NightTimes = {
  /** The process is started and ends. */
  spawnedAt: number
  endedAt: number
  runStartedAt: number
  runFinishedAt: number
  /** Steps of the run in their order, each with when it began and ended. */
  steps: readonly { name: string; from: number; to: number }[]
  submissions: readonly SubmissionTimes[]
  /** When the pages of the searches were loaded. */
  loadedAt: readonly number[]
}

/**
 * `work` may be ours or the service's; `service`: the task is with the service; `wait`: the next thing to do is known
 * and nobody has begun it.
 */
export type LinkKind = 'work' | 'service' | 'wait'

/** One stretch of the night's longest chain. All links together are the night, without gaps. */
export type Link = { what: string; kind: LinkKind; from: number; to: number }

/**
 * The chain of what had to come one after the other, from the start of the process to its end. Within the push it goes
 * back from the submission that was settled last, through the submission whose settlement came last before each was
 * planned: planning follows a settlement. Pure.
 */
export function chainOf(night: NightTimes): Link[] {
  const links: Link[] = []
  let cursor = night.spawnedAt
  const add = (what: string, kind: LinkKind, to: number) => {
    if (to <= cursor) return
    links.push({ what, kind, from: cursor, to })
    cursor = to
  }
  const addSubmission = (submission: SubmissionTimes, planning: string) => {
    add(planning, 'work', submission.committedAt)
    add('planned, waits for a look', 'wait', submission.attemptedAt)
    add('body written and sent', 'work', submission.acceptedAt)
    add('with the service', 'service', submission.finishedAt)
    add('finished, waits for a poll', 'wait', submission.terminalAt)
    add('polled, result file staged', 'work', submission.settledAt)
  }
  add('the process starts', 'work', night.runStartedAt)
  for (const step of night.steps) {
    if (step.name === 'push') {
      const chain = lastToFirst(night.submissions.filter(({ search }) => !search))
      for (const [index, submission] of chain.entries()) {
        addSubmission(submission, index === 0 ? 'first wave planned' : 'settled, next wave planned')
      }
      add('last settlement and last sweep', 'work', step.to)
    } else if (step.name === 'pull') {
      const [search] = lastToFirst(night.submissions.filter((submission) => submission.search)).slice(-1)
      if (search !== undefined) addSubmission(search, 'searches planned')
      const loaded = Math.max(cursor, ...night.loadedAt)
      add('pages loaded', 'work', loaded)
      add('loaded, waits for a look at the run', 'wait', step.to)
    } else add(step.name, 'work', step.to)
  }
  add('the run ends', 'work', night.runFinishedAt)
  add('the process ends', 'work', night.endedAt)
  return links
}

/** Back from what was settled last, to what was planned first; in the order of time. */
function lastToFirst(submissions: readonly SubmissionTimes[]): SubmissionTimes[] {
  const settled = submissions.toSorted((a, b) => a.settledAt - b.settledAt)
  const chain: SubmissionTimes[] = []
  for (let at = settled.at(-1); at !== undefined; ) {
    const current = at
    chain.unshift(current)
    at = settled.findLast(({ settledAt }) => settledAt <= current.plannedAt)
  }
  return chain
}

/**
 * Seconds of all links of one name. `waited`: all of a wait; of anything else the part in which nobody did anything.
 */
export type LinkSum = Spell & { what: string; kind: LinkKind; links: number; seconds: number; waited: number }

export type Path = {
  makespan: number
  /** Seconds in which others had the processors. They belong to neither the path nor what was waited. */
  queued: number
  /** What is left of the makespan without what was waited: the service's own times, and work of ours in its order. */
  critical: number
  /** Seconds that were waited, and for how many of them processors were free. */
  waited: number
  waitedFree: number
  sums: LinkSum[]
}

/** Sums the chain up by name, in the order in which the names first come. Pure. */
export function pathOf(links: readonly Link[], slices: readonly Slice[], processors?: number): Path {
  const sums = new Map<string, LinkSum>()
  let waitedFree = 0
  for (const { what, kind, from, to } of links) {
    const spell = spellOf(slices, from, to, processors)
    const seconds = (to - from) / 1000
    const waited = { wait: seconds - spell.queued, service: 0, work: spell.idle }[kind]
    const sum = sums.get(what) ?? {
      what,
      kind,
      links: 0,
      seconds: 0,
      waited: 0,
      busy: 0,
      service: 0,
      queued: 0,
      idle: 0,
      free: 0,
    }
    sum.links += 1
    sum.seconds += seconds
    sum.waited += waited
    waitedFree += Math.min(waited, spell.free)
    for (const part of ['busy', 'service', 'queued', 'idle', 'free'] as const) sum[part] += spell[part]
    sums.set(what, sum)
  }
  const all = [...sums.values()]
  const makespan = all.reduce((sum, { seconds }) => sum + seconds, 0)
  const queued = all.reduce((sum, spell) => sum + spell.queued, 0)
  const waited = all.reduce((sum, spell) => sum + spell.waited, 0)
  return { makespan, queued, critical: makespan - queued - waited, waited, waitedFree, sums: all }
}
