import { ConfigError } from '../../config/environment.ts'
import { type Config, isOurStream } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import { ourShape, shapeOf } from './our-streams.ts'

/**
 * Checks that the columns which streams look up are columns of theirs.
 * @param contract asked only if a stream is none of ours.
 * @throws {ConfigError} with every column that is none.
 */
export function checkLookups({ streams }: Pick<Config, 'streams'>, contract: () => Contract): void {
  const problems = Object.entries(streams).flatMap(([stream, settings]) => {
    const looked = Object.keys(settings?.lookups ?? {})
    if (looked.length === 0) return []
    const { columns } = isOurStream(stream) ? ourShape(stream) : shapeOf(contract(), stream)
    return looked
      .filter((column) => !columns.includes(column))
      .map((column) => ({
        path: `streams.${stream}.lookups.${column}`,
        message: `${stream} has no column ${column}; it has ${columns.join(', ')}`,
      }))
  })
  if (problems.length > 0) throw new ConfigError('The configuration cannot be used:', problems)
}
