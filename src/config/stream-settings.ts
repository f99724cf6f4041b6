import { z } from 'zod'
import { streamNames } from './stream-names.ts'

/** Also a name that is none of ours: whether the contract adds it is asked when the configuration is loaded. */
export const streamName = z.union([
  z.enum(streamNames),
  z.string().regex(/^[a-z][a-z0-9_]{0,62}$/, 'is no name of a stream'),
])

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
      .default([])
      .describe(
        'Streams whose row of the same property must be accepted before a row of this one is sent. Left out: none, or what the contract says of a stream that it adds.',
      ),
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
