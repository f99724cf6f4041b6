import type { LookupConfig } from '../config/lookup-settings.ts'
import type { Config } from '../config/schema.ts'
import { lookupChange, lookupsRead } from '../pipeline/delta/lookups/lookups-in-use.ts'
import { type Lookup, readLookup, readLookups } from '../pipeline/delta/lookups/read-lookup.ts'
import { advice, type Check, error, type Found, ok, on } from './ward.ts'

/** So many ids with several codes are named. */
const mostNamed = 3

/** The columns that a lookup translates, such as `field_type_id of calculator_inputs`. Pure. */
function usesOf(name: string, { streams }: Pick<Config, 'streams'>): string[] {
  return Object.entries(streams).flatMap(([stream, settings]) =>
    Object.entries(settings?.lookups ?? {}).flatMap(([column, used]) =>
      used === name ? [`${column} of ${stream}`] : [],
    ),
  )
}

/** What a lookup that can be read is good for. Pure. */
export function judgeLookup({ name, ids }: Lookup, { file }: LookupConfig, uses: readonly string[]): Found[] {
  const found = [ok(`${file} has ${ids.size} codes, for ${uses.join(', ')}`, name)]
  const codes = Map.groupBy(ids.keys(), (code) => ids.get(code) ?? '')
  const shared = [...codes].filter(([, several]) => several.length > 1)
  if (shared.length === 0) return found
  const named = shared.slice(0, mostNamed).map(([id, several]) => `${id} (${several.join(', ')})`)
  const more = shared.length > mostNamed ? `, and ${shared.length - mostNamed} more` : ''
  return [
    ...found,
    advice(
      `several codes stand for one id: ${named.join(', ')}${more}. Rows that differ in nothing but such a code are one row, and only one of them is sent`,
      'add up in the query what belongs together, unless no hotel has two of these codes at once',
      name,
    ),
  ]
}

export const lookupChecks: readonly Check[] = [
  {
    id: 'lookups',
    group: 'configuration',
    why: 'A run stops before it reads anything if the file of a lookup that it needs is missing or broken.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const found: Found[] = []
      for (const [name, lookup] of Object.entries(config.lookups)) {
        const uses = usesOf(name, config)
        if (uses.length === 0) {
          const todo = `name it under lookups of a stream, or take lookups.${name} out`
          found.push(advice('no stream uses it', todo, name))
          continue
        }
        const todo = 'fix the file, or its settings: the next run reads it again'
        const judged = await readLookup(name, lookup).then(
          (read) => judgeLookup(read, lookup, uses),
          (unusable: Error) => [error(unusable.message, todo, name)],
        )
        found.push(...judged)
      }
      return found.length > 0 ? found : [ok('There is no lookup')]
    },
  },
]

/** What the next run reads as a whole because a lookup was changed. */
export const lookupChangeChecks: readonly Check[] = [
  {
    id: 'lookup_changes',
    group: 'database',
    why: 'Rows that were read before keep the ids of then until their stream is read whole.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const names = Object.keys(config.streams)
      const now = await on(() => readLookups(config, names), 'lookups')
      const { db } = await on(ward.ledger, 'database_schema')
      const read = await db
        .selectFrom('stream_reading')
        .select(['stream', 'lookups'])
        .where('capture', 'is not', null)
        .execute()
      const found = read.flatMap(({ stream, lookups }) => {
        if (!names.includes(stream)) return []
        const change = lookupChange(lookups, lookupsRead(now.get(stream) ?? new Map()))
        if (change === null) return []
        const todo = 'nothing, if that was intended; nightferry plan shows what it changes'
        return [advice(`the next run reads all rows of the stream: ${change}`, todo, stream)]
      })
      return found.length > 0 ? found : [ok('Every stream was read by the lookups as they are now')]
    },
  },
]
