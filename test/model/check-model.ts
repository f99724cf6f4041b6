import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { knownStories } from './known-stories.ts'
import type { Capture } from './partner.ts'
import { counted, type Played, play } from './play.ts'
import { type Story, stories } from './steps.ts'
import { type ModelWorld, openWorld } from './world.ts'

/** Random stories of each kind of partner in the usual run of the suite; MODEL_RUNS plays more. */
const usualStories = 24
const usualSeeds: Record<Capture, number> = { cursor: 20_261_121, snapshot: 77 }

/** A test that hangs must fail, and so must one that is too slow to tell its stories. Milliseconds. */
const mostMs = 1_000_000

/** How long a story may take on a machine that is busy; most take a second or two. Milliseconds. */
const storyMs = 180_000

const number = (name: string): number | undefined => {
  const given = process.env[name]
  return given === undefined ? undefined : Number(given)
}

/**
 * Plays random stories until one breaks an invariant, and shrinks that one. A failure prints its seed and path:
 * MODEL_SEED and MODEL_PATH replay it, MODEL_RUNS plays more or fewer random ones, MODEL_SECONDS as many
 * as there is time for, MODEL_SHRINK=0 prints it as it was found, MODEL_KNOWN=0 leaves out the known stories,
 * which are all played before the random ones, however long they take.
 *
 * @returns what the stories were made of.
 */
export async function checkModel(capture: Capture): Promise<Played & { stories: number }> {
  const world = await openWorld(capture)
  const sum = { stories: 0, ...(Object.fromEntries(counted.map((name) => [name, 0])) as Played) }
  const path = process.env.MODEL_PATH
  const seconds = number('MODEL_SECONDS')
  const known = process.env.MODEL_KNOWN === '0' ? [] : knownStories
  let told = false
  let last: Promise<unknown> = Promise.resolve()
  /** Shrinking takes its time; somebody who waits wants to know now. */
  const tellFirst = (error: Error): never => {
    if (!told) console.error(`After ${sum.stories} stories: ${error.message}`)
    told = true
    throw error
  }
  const property = fc.asyncProperty(stories, async (story) => {
    const playing = withinTime(play(world, story), () => howItHangs(world, story)).catch(tellFirst)
    last = playing
    const played = await playing
    sum.stories += 1
    for (const name of counted) sum[name] += played[name]
  })
  const tell = (choices: fc.Parameters<[Story]>): Promise<void> =>
    fc.assert(property, {
      seed: number('MODEL_SEED') ?? usualSeeds[capture],
      endOnFailure: process.env.MODEL_SHRINK === '0',
      interruptAfterTimeLimit: mostMs,
      markInterruptAsFailure: true,
      ...choices,
    })
  try {
    if (path === undefined && known.length > 0) {
      await tell({ numRuns: known.length, examples: known.map((story): [Story] => [story]) })
    }
    await tell({
      numRuns: number('MODEL_RUNS') ?? (seconds === undefined ? usualStories : 1_000_000),
      ...(path !== undefined && { path }),
      ...(seconds !== undefined && {
        interruptAfterTimeLimit: seconds * 1_000,
        markInterruptAsFailure: false,
        // Without one of its own, a busy machine that ends no random story in its time would fail.
        asyncReporter: async (details) => {
          if (details.failed && details.counterexample !== null) {
            throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance })
          }
        },
      }),
    })
    // Where time is up, a story is still being played.
    await last
  } finally {
    await last.catch(() => {})
    // A story that does not end has connections that are not given back.
    const closing = new AbortController()
    await Promise.race([world.close(), delay(30_000, undefined, { signal: closing.signal })])
    closing.abort()
  }
  return sum
}

/** The end of some work, or an error if it does not end in the time of a story. */
async function withinTime<T>(work: Promise<T>, why: () => Promise<Error>): Promise<T> {
  const stopping = new AbortController()
  try {
    return await Promise.race([
      work,
      delay(storyMs, undefined, { signal: stopping.signal }).then(async () => {
        throw await why()
      }),
    ])
  } finally {
    stopping.abort()
  }
}

/** What the server says of a story that does not end: who waits for whom. */
async function howItHangs(world: ModelWorld, story: Story): Promise<Error> {
  const { rows } = await world.own.query(
    `select pid, state, wait_event_type, wait_event, pg_blocking_pids(pid) as blocked_by, left(query, 200) as query
     from pg_stat_activity where datname is not null and pid <> pg_backend_pid() and state <> 'idle'`,
  )
  return new Error(`a story does not end: ${JSON.stringify(story)}; at the server: ${JSON.stringify(rows)}`)
}
