import { z } from 'zod'

const lookupName = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/, 'is no name of a lookup: small letters, digits and _')

/** Where a table of the partner's own codes is, and how it is read. */
const lookup = z.strictObject({
  file: z
    .string()
    .min(1)
    .describe('CSV file in UTF-8 with a line of names first. Its path is relative to the configuration file.'),
  code: z.string().min(1).default('code').describe("Name of the file's column that holds your code."),
  id: z.string().min(1).default('id').describe("Name of the file's column that holds what the code stands for."),
  separator: z
    .enum([',', ';', '\t'])
    .default(',')
    .describe('What stands between two cells: a comma, a semicolon, or a tabulator ("\\t").'),
})

export type LookupConfig = z.infer<typeof lookup>

/** The section `lookups`. */
export const lookupSettings = z
  .record(lookupName, lookup)
  .default({})
  .describe(
    'Tables of your own codes, of meters, questions or units for instance, with the ids of the service that they stand for; streams use them by name.',
  )

/** In a stream: which of its columns are looked up, and in which lookup. */
export const streamLookups = z
  .record(z.string().min(1), lookupName)
  .optional()
  .describe(
    'Columns of the query that hold codes of yours, each with the lookup that says what they stand for, such as { field_type_id: meters }. A row with a code that the lookup does not know is invalid.',
  )
