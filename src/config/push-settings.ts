import { z } from 'zod'
import { streamNames } from './known-names.ts'
import { streamLookups } from './lookup-settings.ts'
import { count, milliseconds, section } from './setting-kinds.ts'

/** In `push.retries`: whatever the service calls a property that it could not match. */
export const notMatchedCode = 'not_matched'

/** Also a name that is none of ours: whether the contract adds it is asked when the configuration is loaded. */
export const streamName = z.union([
  z.enum(streamNames),
  z.string().regex(/^[a-z][a-z0-9_]{0,62}$/, 'is no name of a stream'),
])

const retry = z.strictObject({
  stream: streamName.optional().describe('Rows of this stream; left out: of any.'),
  code: z
    .string()
    .min(1)
    .describe(
      `The code that a row was rejected with, exactly, as nightferry rejected shows it; ${notMatchedCode} for a property that the service could not match.`,
    ),
  afterMs: z.number().int().min(0).describe('How long after it was rejected a row is sent again. Milliseconds.'),
  times: z
    .number()
    .int()
    .min(1)
    .nullable()
    .describe('How often the same content is sent again at most; null: in every run.'),
})

/** The section `push`. */
export const pushSettings = section(
  {
    maxCompaniesPerMapping: count(
      'Companies per company-mappings request. The specification wants fewer than 100,000.',
      5_000,
      1,
      99_999,
    ),
    maxAnswersPerUpsert: count(
      'Answers and omissions per framework-answers request. The specification allows 50,000.',
      10_000,
      1,
      50_000,
    ),
    maxCalculatorsPerUpsert: count(
      'Calculators (a property and period) and settings per calculator upsert.',
      10_000,
      1,
      100_000,
    ),
    maxValuesPerUpsert: count('Custom property values per companies upsert.', 10_000, 1, 100_000),
    maxHoldersPerUpsert: count('Standard holders per upsert.', 10_000, 1, 100_000),
    firstRows: count(
      'Rows in the first requests of a kind. From then on the size is learned: doubled while requests succeed in time, halved when one fails, to four rows at least, and never above the limits given here.',
      1_000,
      1,
      100_000,
    ),
    targetTaskMs: milliseconds(
      'How long a request may take at the service so that larger ones are tried. After four times as long smaller ones are.',
      60_000,
      1,
    ),
    inFlightPerKind: count(
      'Requests of one kind that are planned or in flight at once, by all processes together; the next are cut as these end.',
      8,
      1,
      64,
    ),
    uncertainGraceMs: milliseconds(
      'After a POST whose answer was lost: how long to wait, at least, for its task to appear in the list before sending again. Too short risks two requests at once, too long only delays.',
      30_000,
    ),
    unlistedGraceMs: milliseconds(
      'The same where the list of tasks does not reach back to the POST, so that its task may be running unseen: how long until it counts as ended. Meanwhile the run stops, unless a person says which task it is.',
      21_600_000,
    ),
    keepPayloadsDays: count(
      'How long the bodies of requests that have ended are kept. Days; 0: for ever.',
      90,
      0,
      36_500,
    ),
    maxSplits: count(
      'Requests at most that one request is split into, by halves and halves of these, when its task ended in Error without naming a row. Too few and the row that it fails over is not found; 10,000 rows with one such row take 28.',
      40,
      2,
      1_000,
    ),
    retries: z
      .array(retry)
      .default([
        { stream: 'properties', code: notMatchedCode, afterMs: 72_000_000, times: null },
        { code: 'task_error_alone', afterMs: 72_000_000, times: 3 },
      ])
      .describe(
        'Which rejected rows a run sends again as they are. Without an entry a row is sent again when it changes, or when a person says so.',
      ),
    repair: z
      .record(streamName, z.enum(['report', 'send']))
      .default({})
      .describe(
        'By stream, what happens to rows that the service accepted and shows otherwise than they were sent. report: they are named; send: the next run sends them again, but never over a change that the service dates later than ours. Rows that it does not show at all are sent again either way, once, as far as the guard lets them through.',
      ),
    maxTextLength: count(
      'Longest text of a row, in characters: an answer, a name, a street, a value. Longer ones are invalid. The specification states no limit.',
      65_536,
      1,
      16_777_216,
    ),
    minReferenceShare: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .describe(
        'Reference data that hold a smaller share of the frameworks, questions, data points, options, units or custom properties known are not taken until a person accepts them: rows are judged by those before. 0 to 1; 0 takes everything.',
      ),
  },
  'The way out.',
)

/** How one stream is read. */
export const stream = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .describe("SQL over the partner's database that yields the stream's columns, and the cursor."),
    capture: z
      .enum(['cursor', 'snapshot'])
      .default('cursor')
      .describe(
        'How changes are found. cursor: rows past the watermark are read; deletions are seen every fullEvery. snapshot: all rows are read and compared by hash; what is gone is noticed.',
      ),
    cursor: z
      .string()
      .min(1)
      .optional()
      .describe(
        'With capture: cursor, the column of the query that grows whenever a row changes, such as updated_at. Rows past the watermark are read.',
      ),
    fullEvery: z
      .string()
      .regex(/^([1-9]\d{0,4}[dh]|never)$/, 'is no time; it looks like 7d or 12h, or is never')
      .default('7d')
      .describe(
        'With capture: cursor, how often a run reads all rows and compares them, so that deletions are seen as well: such as 7d or 12h. never: for a query that yields only what changed lately.',
      ),
    requires: z
      .array(streamName)
      .optional()
      .describe(
        'Streams whose row of the same property must be accepted before a row of this one is sent. Left out: properties, for every other stream of ours where properties is a stream; of a stream that the contract adds, what the contract says. []: none.',
      ),
    lookups: streamLookups,
  })
  .refine(({ capture, cursor }) => capture === 'snapshot' || cursor !== undefined, {
    path: ['cursor'],
    // Said with the other problems of the stream, not only once they are fixed.
    when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
    error: 'is missing; name the column that grows whenever a row changes, or set capture: snapshot',
  })

export type StreamConfig = z.infer<typeof stream>

const hourMs = 3_600_000

/** Milliseconds of a setting such as `7d`; null: never. Pure. */
export function fullEveryMs(setting: StreamConfig['fullEvery']): number | null {
  const [, number, unit] = /^(\d+)([dh])$/.exec(setting) ?? []
  if (number === undefined) return null
  return Number(number) * (unit === 'd' ? 24 : 1) * hourMs
}
