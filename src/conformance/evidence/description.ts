import type { Endpoint } from '../../exchange/contract.ts'
import type { Bench } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { at, isObject, objectsOf, textOf, type WireObject } from '../wire-json.ts'

/** The OpenAPI description, asked for without a key and, if that is refused, with it. */
export function description(bench: Bench): Promise<Answer> {
  return bench.once('description', async () => {
    const endpoint = bench.contract.otherEndpoints.description
    const open = await bench.wire.call(endpoint, { key: null })
    return open.status === 200 ? open : await bench.wire.call(endpoint)
  })
}

/** The version that a description names; null when the document is none. */
export function openApiVersion(document: unknown): string | null {
  return isObject(at(document, 'paths')) ? textOf(at(document, 'openapi')) : null
}

/** What the description says of an endpoint; undefined when it does not name it. */
export function describedOperation(document: unknown, { method, path }: Pick<Endpoint, 'method' | 'path'>): unknown {
  const paths = at(document, 'paths')
  if (!isObject(paths)) return undefined
  const plain = (text: string) => text.replaceAll(/\{[^}]+\}/g, '{}')
  const starts = startsOf(document)
  const found = Object.keys(paths).find(
    (known) => plain(known) === plain(path) || starts.some((start) => plain(`${start}${known}`).endsWith(plain(path))),
  )
  return found === undefined ? undefined : at(paths[found], method.toLowerCase())
}

/** The paths of the servers that a description names: where its own paths begin. */
function startsOf(document: unknown): string[] {
  return objectsOf(at(document, 'servers')).flatMap(({ url }) => {
    const text = textOf(url)
    // A server may be given by its path alone.
    return text !== null && URL.canParse(text, 'http://localhost')
      ? [new URL(text, 'http://localhost').pathname.replace(/\/+$/, '')]
      : []
  })
}

/** Every property name that a request body of an endpoint may contain, at any depth, as the description says. */
export function describedRequestNames(document: unknown, endpoint: Endpoint): Set<string> {
  const names = new Set<string>()
  const visited = new Set<unknown>()
  // A list instead of a recursion: how deep a description goes is up to the service.
  const waiting = [at(describedOperation(document, endpoint), 'requestBody')]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (visited.has(value)) continue
    visited.add(value)
    if (Array.isArray(value)) for (const element of value) waiting.push(element)
    if (!isObject(value)) continue
    const { $ref, properties } = value
    if (typeof $ref === 'string') waiting.push(resolved(document, $ref))
    if (isObject(properties)) for (const name of Object.keys(properties)) names.add(name)
    for (const member of Object.values(value)) waiting.push(member)
  }
  return names
}

function resolved(document: unknown, reference: string): WireObject | undefined {
  const steps = reference
    .replace(/^#\//, '')
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const found = at(document, ...steps)
  return isObject(found) ? found : undefined
}
