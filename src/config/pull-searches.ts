import { z } from 'zod'
import { scheduleSettings } from './job-settings.ts'

/** The searches whose pages are kept as documents, by their endpoint in the contract. */
export const documentSearches = [
  'companiesSearch',
  'standardsSearch',
  'standardHoldersSearch',
  'frameworkAnswersSearch',
] as const

const search = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/, 'is no name in lower case, such as all_standards')
    .max(63)
    .describe('Name of its own, under which its documents are found.'),
  search: z.enum(documentSearches).describe('Which search it is: the name of its endpoint in the contract.'),
  body: z
    .record(z.string(), z.unknown())
    .refine(isJson, 'holds what JSON cannot say')
    .default({})
    .describe('Body of the request, sent as JSON as it stands here.'),
  ids: z
    .record(z.string(), z.array(z.string().min(1)).min(1))
    .default({})
    .describe('By list: the members of its elements that make up their id, where it is not as the contract says.'),
  minSeenShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('If it returns fewer elements than this share of those known, nothing is removed. 0 to 1.'),
  ...scheduleSettings,
})

/** The setting `pull.searches`. */
export const pullSearches = z
  .array(search)
  .default([])
  .refine((searches) => new Set(searches.map(({ name }) => name)).size === searches.length, 'has two of one name')
  .describe('Searches for other things than calculators, whose pages are kept as documents; empty: none is made.')

export type SearchSettings = z.infer<typeof search>

/** YAML can write numbers that JSON has no words for. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return ['string', 'boolean', 'object'].includes(typeof value)
  return Object.values(value).every(isJson)
}
