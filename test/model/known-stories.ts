import type { StreamName } from '../../src/config/schema.ts'
import type { Step, Story, Which } from './steps.ts'

/** Two hotels with a row of each kind of these streams. */
const story = (streams: StreamName[], trouble: Record<string, number>, ...steps: Step[]): Story => ({
  night: { streams: ['properties', ...streams], pull: false },
  initial: streams === answers ? [0, 0, 0, 0, 0, null, null, 0, 0, 0, 0, 0, null, null] : [0, 0, 0, 0, 0, 0, 0, 0],
  trouble,
  steps,
})

const calm: Step = { do: 'trouble', profiles: {} }
const work = (looks: number): Step => ({ do: 'work', looks })

const answers: StreamName[] = ['framework_answers', 'omissions']
/**
 * Where the number of employees of the two hotels stands among the cells of these streams; its last value is refused.
 */
const employees = [1, 8] as const
/** Where a text of the first hotel stands. */
const training = 2
/** Where the details of the two hotels stand. */
const hotels = [0, 7] as const
const refusedValue = 2
/** The details of a hotel, as the service knows none. */
const unmatchedValue = 2

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

const night: Step[] = [{ do: 'trigger' }, work(60)]

/** A hotel is another company from its second night on; `other`: of the service's, so that two of ours are one. */
const moved = (hotel: number, ...later: Step[]): Story =>
  story(answers, {}, work(60), { do: 'move', hotel, value: 4 }, ...night, ...later)

/** A change is sent after the backup, and after the restore the partner says what it said before. */
const restoredAfter = (which: Which): Story =>
  story(
    answers,
    {},
    work(60),
    { do: 'dump' },
    { do: 'put', cell: employees[0], value: 1 },
    ...night,
    { do: 'restore', which },
    { do: 'put', cell: employees[0], value: 0 },
  )

/** A row is replaced by one that contradicts it, and comes back. */
const replaced = (by: number, first: number): Story =>
  story(
    answers,
    {},
    work(60),
    { do: 'put', cell: by, value: 0 },
    ...night,
    { do: 'put', cell: first, value: 0 },
    ...night,
  )

/** An answer is lost while our clock is set. */
const clockSet = (before: number, after: number): Story =>
  story(
    answers,
    {},
    { do: 'clock', minutes: before },
    work(1),
    { do: 'trouble', profiles: { 'lost-answer': 1 } },
    work(1),
    { do: 'clock', minutes: after },
    work(3),
    calm,
    work(3),
  )

/** Of two hotels that change, the service finds one; the result file that says so stays missing. */
const lostFile = story(
  answers,
  {},
  work(60),
  { do: 'put', cell: hotels[0], value: unmatchedValue },
  { do: 'put', cell: hotels[1], value: 1 },
  { do: 'trouble', profiles: { 'pages-missing': 1 } },
  ...night,
)

/**
 * The run dies at one of its calls while it reads what changed, and the next run takes its place. The older of the two
 * changes would be lost, for the row that carried the watermark is read again.
 */
const brokenReading = (at: number): Story =>
  story(
    answers,
    {},
    work(60),
    { do: 'put', cell: employees[0], value: 1 },
    { do: 'put', cell: employees[1], value: 1 },
    { do: 'trigger' },
    { do: 'break', at, when: 'after', how: 'dies', gone: true, reading: true },
    work(1),
    { do: 'fail' },
    ...night,
  )

/**
 * A row changes while a request that carries it outlives its run, and the next run reads the change before the answer.
 */
const changedInFlight = (looks: number): Story =>
  story(
    answers,
    {},
    work(60),
    { do: 'put', cell: training, value: 1 },
    { do: 'trigger' },
    work(looks),
    { do: 'fail' },
    { do: 'put', cell: training, value: 2 },
    ...night,
  )

/** Two hotels that say different things become one company, and one of them leaves it again in the last night. */
const parted: Story = {
  night: { streams: ['properties', 'custom_property_values', 'standard_holders'], pull: false },
  initial: [null, 0, 0, 0, 0, 0, 0, 0, 0, null, 0],
  trouble: {},
  steps: [
    work(60),
    ...[0, 1, 2, 3, 4, 5].map((cell): Step => ({ do: 'put', cell, value: 1 })),
    ...night,
    { do: 'move', hotel: 1, value: 4 },
    { do: 'move', hotel: 2, value: 4 },
    ...night,
    { do: 'move', hotel: 2, value: 0 },
  ],
}

/**
 * The service is restored in the middle of a night, when it has taken the mapping and before it is sent the answers.
 */
const restoredAmid: Story = {
  night: { streams: ['properties', ...answers], pull: false },
  initial: [0, null, 0, 0, 0, 0],
  trouble: {},
  steps: [{ do: 'dump' }, { do: 'trigger' }, work(7), { do: 'restore', which: 'service' }],
}

/** The only input of a period is taken back after it was sent. */
const takenBack: Story = {
  night: { streams: ['properties', 'calculator_inputs'], pull: false },
  initial: [0, 0, null, null, null, null],
  trouble: {},
  steps: [work(60), { do: 'put', cell: 1, value: 3 }, ...night],
}

/** Played before any random one: the shortest stories in which each of the worst mistakes would show. */
export const knownStories: Story[] = [
  story(answers, {}, work(1), { do: 'trouble', profiles: { 'lost-answer': 1 } }, work(1), calm, work(3)),
  story(
    answers,
    {},
    work(60),
    { do: 'put', cell: 0, value: unmatchedValue },
    { do: 'trouble', profiles: { 'pages-missing': 1 } },
    ...night,
  ),
  moved(1),
  lostFile,
  changedInFlight(2),
  ...[30, 50].map(brokenReading),
  changedNight({ 'errors-without-rows': 1 }),
  changedNight({ 'partial-without-rows': 1, 'small-first': 1 }),
  ...[9, 10, 11, 12].map(deathAt),
  moved(0),
  moved(1, { do: 'move', hotel: 1, value: 0 }, ...night),
  parted,
  restoredAfter('own'),
  restoredAfter('service'),
  restoredAfter('partner'),
  restoredAmid,
  takenBack,
  replaced(5, 2),
  replaced(6, 1),
  clockSet(60, -60),
  clockSet(-60, 60),
  changedNight({ 'refused-rows:400': 0.3, 'refused-rows:422': 0.3 }),
]
