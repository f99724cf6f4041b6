import fc from 'fast-check'
import { knownStories } from './known-stories.ts'
import type { Capture } from './partner.ts'
import { counted, type Played, play } from './play.ts'
import { stories } from './steps.ts'
import { openWorld } from './world.ts'

/** Random stories of each kind of partner in the usual run of the suite; MODEL_RUNS plays more. */
const usualStories = 24
const usualSeeds: Record<Capture, number> = { cursor: 20_261_121, snapshot: 77 }

/** A test that hangs must fail, and so must one that is too slow to tell its stories. Milliseconds. */
const mostMs = 1_000_000

const number = (name: string): number | undefined => {
  const given = process.env[name]
  return given === undefined ? undefined : Number(given)
}

/**
 * Plays random stories until one breaks an invariant, and shrinks that one. A failure prints its seed and path:
 * MODEL_SEED and MODEL_PATH replay it, MODEL_RUNS plays more or fewer random ones, MODEL_SECONDS as many
 * as there is time for, MODEL_SHRINK=0 prints it as it was found, MODEL_KNOWN=0 leaves out the known stories,
 * which are played before the random ones.
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
  try {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const playing = play(world, story).catch(tellFirst)
        last = playing
        const played = await playing
        sum.stories += 1
        for (const name of counted) sum[name] += played[name]
      }),
      {
        numRuns: known.length + (number('MODEL_RUNS') ?? usualStories),
        seed: number('MODEL_SEED') ?? usualSeeds[capture],
        examples: known.map((story): [typeof story] => [story]),
        ...(path !== undefined && { path }),
        endOnFailure: process.env.MODEL_SHRINK === '0',
        interruptAfterTimeLimit: seconds === undefined ? mostMs : seconds * 1_000,
        markInterruptAsFailure: seconds === undefined,
      },
    )
  } finally {
    // Where time is up, a story is still being played.
    await last.catch(() => {})
    await world.close()
  }
  return sum
}
