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

const answers: StreamName[] = ['framework_answers', 'omissions']
/** Where the number of employees of the two hotels stands among the cells of these streams; its last value is refused. */
const employees = [1, 6] as const
const refusedValue = 2

/** The next night brings a change of each hotel, one of which the service refuses, and the service has this trouble. */
const changedNight = (trouble: Record<string, number>): Story =>
  story(
    answers,
    {},
    work(60),
    { do: 'put', cell: employees[0], value: refusedValue },
    { do: 'put', cell: employees[1], value: 1 },
    { do: 'trouble', profiles: trouble },
    { do: 'trigger' },
    work(60),
  )

/** The process dies around its first POST: when the intent is stored, when the service has taken it, or later. */
const deathAt = (at: number): Story =>
  story(
    answers,
    {},
    work(1),
    { do: 'break', at, when: 'after', how: 'dies', gone: true },
    work(1),
    { do: 'trigger' },
    work(3),
  )

/** Played before any random one: the shortest stories in which each of the worst mistakes would show. */
export const knownStories: Story[] = [
  story(answers, {}, work(1), { do: 'trouble', profiles: { 'lost-answer': 1 } }, work(1), calm, work(3)),
  changedNight({ 'errors-without-rows': 1 }),
  changedNight({ 'partial-without-rows': 1, 'small-first': 1 }),
  ...[9, 10, 11, 12].map(deathAt),
]
