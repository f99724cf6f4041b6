import type { StreamName } from '../../src/config/schema.ts'
import type { Step, Story } from './steps.ts'

/** Two hotels with a row of each kind of these streams. */
const story = (streams: StreamName[], trouble: Record<string, number>, ...steps: Step[]): Story => ({
  night: { streams: ['properties', ...streams], pull: false },
  initial: [0, 0, 0, 0, 0, 0, 0, 0],
  trouble,
  steps,
})

const calm: Step = { do: 'trouble', profiles: {} }
const work = (looks: number): Step => ({ do: 'work', looks })

/** Played before any random one: the shortest stories in which each of the worst mistakes would show. */
export const knownStories: Story[] = [
  story(['framework_answers', 'omissions'], { 'lost-answer': 1 }, work(3), calm, work(60)),
  story(['framework_answers', 'omissions'], { 'errors-without-rows': 1 }, work(60)),
  story(
    ['custom_property_values', 'standard_holders'],
    {},
    work(1),
    // The process dies when the service has taken the mapping and nothing of that is stored.
    { do: 'break', at: 6, when: 'after', how: 'dies', gone: false },
    work(2),
    { do: 'trigger' },
    work(60),
  ),
  story(['custom_property_values', 'standard_holders'], { 'partial-without-rows': 1, 'small-first': 1 }, work(80)),
]
