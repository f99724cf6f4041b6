import fc from 'fast-check'
import type { StreamName } from '../../src/config/schema.ts'
import type { Night } from './world.ts'

/** What happens from the first trigger on; `initial`: which rows the partner has by then, and what they say. */
export type Story = {
  night: Night
  initial: (number | null)[]
  /** The service's trouble at the beginning. */
  trouble: Record<string, number>
  steps: Step[]
}

/** Nightferry's own database, the service's, and the partner's. */
export type Which = 'own' | 'service' | 'partner'

/**
 * One thing that happens. Numbers choose among what there is at that moment, so that every step can always be taken.
 */
export type Step =
  /** A row of the partner appears, changes, or is touched without a change. */
  | { do: 'put'; cell: number; value: number }
  | { do: 'remove'; cell: number }
  /** The details of one of our hotels change, so that the service may match it with another company. */
  | { do: 'move'; hotel: number; value: number }
  /** The job is triggered: a run begins, or the one under way is taken up again. */
  | { do: 'trigger' }
  /** An error that no attempt fixes ends the run under way, and leaves its requests with the service. */
  | { do: 'fail' }
  /** One look that is due is made; `twice`: it will come again. */
  | { do: 'look'; nth: number; twice: boolean }
  /** Two looks are made at the same time; they may be the same one. */
  | { do: 'lookAtOnce'; first: number; second: number }
  /** The daemon is left to itself for so many looks; when none is due, time passes. */
  | { do: 'work'; looks: number }
  | { do: 'pass'; ms: number }
  /** From now on the service makes this trouble, and no other. */
  | { do: 'trouble'; profiles: Record<string, number> }
  /**
   * The process ends, or its connection breaks, at the nth call from now, or from when it begins to read a stream;
   * `gone`: only a new trigger looks after its work.
   */
  | { do: 'break'; at: number; when: 'before' | 'after'; how: 'dies' | 'fails'; gone: boolean; reading?: boolean }
  /** Another integration of the profile sends something of its own, with its own key or with ours. */
  | { do: 'sibling'; kind: number; sameKey: boolean }
  | { do: 'retry' }
  | { do: 'approve' }
  | { do: 'abandon'; nth: number }
  | { do: 'cancel'; nth: number }
  /** A person finds out which task a lost answer became. */
  | { do: 'adopt'; nth: number }
  /** A backup of each of the three databases. */
  | { do: 'dump' }
  /** That of one takes the place of the database; where none was made, nothing happens. */
  | { do: 'restore'; which: Which }
  /** Our clock is set to so many minutes before or after the service's. */
  | { do: 'clock'; minutes: number }

/** Trouble of the service that concerns the way out and the end of a night. None of it takes real time. */
export const troubles = [
  'lost-answer',
  'late-server-errors',
  'garbage-answer',
  'html-answer',
  'cut-answer:chunked',
  'cut-answer:clean',
  'reset-before',
  'unauthorised',
  'rate-limited:seconds',
  'rate-limited:date',
  'server-errors',
  'unknown-statuses',
  'unknown-fields',
  'shuffled-keys',
  'tasks-cancelled',
  'tasks-stuck',
  'tasks-forgotten',
  'statuses-repeated',
  'pending-repeated',
  'error-without-body',
  'errors-without-rows',
  'partial-without-rows',
  'success-without-pages',
  'small-first',
  'pages-missing',
  'pages-cut:clean',
  'malformed-pages',
  'refused-rows:400',
  'refused-rows:422',
] as const

/** Plain objects, which print as what can be pasted. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>

const at = fc.nat({ max: 1_000 })
const trouble = fc
  .array(fc.tuple(fc.constantFrom(...troubles), fc.constantFrom(0.3, 0.7, 1)), { minLength: 0, maxLength: 3 })
  .map((some) => Object.fromEntries(some))

const putAnywhere = (value: fc.Arbitrary<number>) => record({ do: fc.constant('put' as const), cell: at, value })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: putAnywhere(fc.nat({ max: 4 })) },
  // The details of a hotel: the service may find another company by them.
  { weight: 2, arbitrary: record({ do: fc.constant('move'), hotel: at, value: fc.constantFrom(0, 4, 4) }) },
  { weight: 1, arbitrary: record({ do: fc.constant('remove'), cell: at }) },
  { weight: 2, arbitrary: record({ do: fc.constant('trigger') }) },
  { weight: 1, arbitrary: record({ do: fc.constant('fail') }) },
  { weight: 6, arbitrary: record({ do: fc.constant('look'), nth: at, twice: fc.boolean() }) },
  { weight: 2, arbitrary: record({ do: fc.constant('lookAtOnce'), first: at, second: at }) },
  { weight: 8, arbitrary: record({ do: fc.constant('work'), looks: fc.integer({ min: 1, max: 40 }) }) },
  {
    weight: 3,
    arbitrary: record({ do: fc.constant('pass'), ms: fc.constantFrom(500, 2_000, 6_000, 20_000, 130_000) }),
  },
  { weight: 4, arbitrary: record({ do: fc.constant('trouble'), profiles: trouble }) },
  {
    weight: 4,
    arbitrary: record({
      do: fc.constant('break'),
      at: fc.integer({ min: 1, max: 60 }),
      when: fc.constantFrom('before', 'after'),
      how: fc.constantFrom('dies', 'dies', 'fails'),
      gone: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: record({ do: fc.constant('sibling'), kind: fc.nat({ max: 3 }), sameKey: fc.boolean() }) },
  { weight: 1, arbitrary: record({ do: fc.constant('retry') }) },
  { weight: 1, arbitrary: record({ do: fc.constant('approve') }) },
  { weight: 1, arbitrary: record({ do: fc.constant('abandon'), nth: at }) },
  { weight: 1, arbitrary: record({ do: fc.constant('cancel'), nth: at }) },
  { weight: 1, arbitrary: record({ do: fc.constant('adopt'), nth: at }) },
  { weight: 2, arbitrary: record({ do: fc.constant('dump') }) },
  {
    weight: 2,
    arbitrary: record({ do: fc.constant('restore'), which: fc.constantFrom<Which>('own', 'service', 'partner') }),
  },
  { weight: 2, arbitrary: record({ do: fc.constant('clock'), minutes: fc.constantFrom(-60, -7, 0, 7, 60) }) },
) as fc.Arbitrary<Step>

const night: Step = { do: 'trigger' }
const work = (looks: number): Step => ({ do: 'work', looks })

const calm: Step = { do: 'trouble', profiles: {} }
/** Several rows, of which some are likely to be of one stream. */
const putSome = (cell: number, value: number): Step[] =>
  [0, 1, 2, 3, 4, 5].map((next) => ({ do: 'put', cell: cell + next, value }))

/**
 * Rows change while requests that carry them outlive their run, and the next run reads the changes before the answers.
 */
const changedInFlight: fc.Arbitrary<Step[]> = fc
  .record({ cell: at, value: fc.nat({ max: 1 }), looks: fc.integer({ min: 2, max: 5 }) })
  .map(({ cell, value, looks }) => [
    calm,
    work(60),
    ...putSome(cell, value),
    night,
    work(looks),
    { do: 'fail' },
    ...putSome(cell, value + 1),
    night,
    work(60),
  ])

/**
 * A run breaks off while it reads what has changed since the one before, and the next takes its place. Several rows
 * change: the newest one is read again in any case.
 */
const brokenReading: fc.Arbitrary<Step[]> = fc
  .record({
    cell: at,
    value: fc.nat({ max: 2 }),
    call: fc.integer({ min: 1, max: 100 }),
    when: fc.constantFrom('before' as const, 'after' as const),
  })
  .map(({ cell, value, call, when }) => [
    calm,
    work(60),
    ...putSome(cell, value),
    night,
    { do: 'break', at: call, when, how: 'dies', gone: true, reading: true },
    work(1),
    { do: 'fail' },
    night,
    work(60),
  ])

/** A mapping request of which the service takes one hotel and not another, and whose result file stays missing. */
const lostFile: fc.Arbitrary<Step[]> = fc
  .record({ hotel: at, value: fc.constantFrom(0, 1) })
  .map(({ hotel, value }) => [
    work(60),
    { do: 'move', hotel, value: 2 },
    { do: 'move', hotel: hotel + 1, value },
    { do: 'trouble', profiles: { 'pages-missing': 1 } },
    night,
    work(60),
  ])

/** What single steps seldom come to by chance. */
const situations = [changedInFlight, brokenReading, lostFile]

const scenes: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 36, arbitrary: step.map((one) => [one]) },
  ...situations.map((arbitrary) => ({ weight: 1, arbitrary })),
)

/** Not every stream in every story, or a story would take too long to play. */
const streamSets: StreamName[][] = [
  ['framework_answers', 'omissions'],
  ['calculator_inputs', 'calculator_settings'],
  ['custom_property_values', 'standard_holders'],
  ['framework_answers', 'calculator_inputs'],
  ['omissions', 'custom_property_values'],
]

/** Properties of the first hotels are likely to be there and to be right: what depends on them is the larger part. */
const initialValue = fc.oneof(
  { weight: 2, arbitrary: fc.constant(null) },
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.nat({ max: 3 }) },
)

export const stories: fc.Arbitrary<Story> = record({
  night: record({
    streams: fc.constantFrom(...streamSets).map((some): StreamName[] => ['properties', ...some]),
    pull: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  }),
  initial: fc.array(initialValue, { minLength: 6, maxLength: 16, size: 'max' }),
  trouble,
  steps: fc.array(scenes, { minLength: 5, maxLength: 25, size: 'max' }).map((some) => some.flat()),
})
