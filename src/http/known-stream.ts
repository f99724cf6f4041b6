import { type Config, isOurStream, streamNames } from '../config/schema.ts'
import { Problem } from './problem.ts'

/**
 * Makes sure that a stream which a request names is one of ours, or one that the configuration reads.
 * @throws {Problem} 404 otherwise: of a misspelt one there are no rows, which would look as if all were well.
 */
export function knownStream({ streams }: Config, stream: string): string {
  if (isOurStream(stream) || Object.hasOwn(streams, stream)) return stream
  const added = Object.keys(streams).filter((name) => !isOurStream(name))
  const all = [...streamNames, ...added].join(', ')
  throw new Problem(404, 'stream_unknown', `There is no stream ${stream}; there are ${all}.`)
}
