import type { ConfigProblem } from './config-error.ts'
import { isOurStream, streamNames } from './schema.ts'

/** Streams that come with the kinds of request which the contract file describes, and what each requires by default. */
export type AddedStreams = Readonly<Record<string, { requires: readonly string[] }>>

type Document = Record<string, unknown>

/**
 * Checks the streams that a configuration names against those that there are, and writes down what a stream of the
 * contract requires where the configuration does not say it.
 *
 * @param added asked with the file that the document names as the contract, and only if a name is none of ours: a
 *   configuration that adds nothing can be read whatever is wrong with the contract.
 */
export function joinAddedStreams(
  document: Document,
  added: (contract: string | null) => AddedStreams,
): ConfigProblem[] {
  const streams = sectionOf(document.streams)
  const named = [...requirementsIn(streams), ...retriedIn(sectionOf(document.push))]
  const mentioned = [...Object.keys(streams), ...named.map(({ name }) => name)]
  const { contract } = sectionOf(document.exchange)
  const known = mentioned.every(isOurStream) ? {} : added(typeof contract === 'string' ? contract : null)
  for (const [name, stream] of Object.entries(streams)) {
    const requires = Object.hasOwn(known, name) ? known[name]?.requires : undefined
    if (requires !== undefined && isSection(stream) && stream.requires === undefined) stream.requires = [...requires]
  }
  const there = [...streamNames, ...Object.keys(known)]
  const problem = (path: string) => ({ path, message: `is no stream; there are ${there.join(', ')}` })
  return [
    ...Object.keys(streams)
      .filter((name) => !there.includes(name))
      .map((name) => problem(`streams.${name}`)),
    ...named.filter(({ name }) => !there.includes(name)).map(({ path }) => problem(path)),
  ]
}

function requirementsIn(streams: Document): { path: string; name: string }[] {
  return Object.entries(streams).flatMap(([stream, value]) => {
    const { requires } = sectionOf(value)
    if (!Array.isArray(requires)) return []
    return requires.flatMap((name: unknown, index) =>
      typeof name === 'string' ? [{ path: `streams.${stream}.requires.${index}`, name }] : [],
    )
  })
}

/** The streams of whose rows policies speak. */
function retriedIn({ retries }: Document): { path: string; name: string }[] {
  if (!Array.isArray(retries)) return []
  return retries.flatMap((policy: unknown, index) => {
    const { stream } = sectionOf(policy)
    return typeof stream === 'string' ? [{ path: `push.retries.${index}.stream`, name: stream }] : []
  })
}

function sectionOf(value: unknown): Document {
  return isSection(value) ? value : {}
}

/** Whether something is a mapping; what is wrong with it otherwise is said by the schema. */
function isSection(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
