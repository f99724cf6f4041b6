import { isObject, type WireObject } from '../wire-json.ts'

/** What a description says of one value: the members that an object has, and the texts that it may be. */
type DescribedValue = {
  /** Schemas of each member, by its name. */
  members: ReadonlyMap<string, readonly unknown[]>
  /** The texts that it may be; empty: any. */
  texts: ReadonlySet<string>
}

/** A description may be as wide as it likes; more than so many schemas of one value say nothing new. */
const mostSchemas = 2_000

/**
 * Gathers what schemas say of one value: references within the document are followed, and `allOf`, `oneOf`, `anyOf` and
 * the elements of lists count as the value itself. Pure. Schemas may refer to themselves.
 */
export function describedValue(document: unknown, schemas: readonly unknown[]): DescribedValue {
  const members = new Map<string, unknown[]>()
  const texts = new Set<string>()
  const visited = new Set<unknown>()
  const waiting = [...schemas]
  while (waiting.length > 0 && visited.size < mostSchemas) {
    const schema = waiting.pop()
    if (!isObject(schema) || visited.has(schema)) continue
    visited.add(schema)
    const { $ref, allOf, oneOf, anyOf, items, properties, enum: listed, const: only } = schema
    if (typeof $ref === 'string') waiting.push(referredTo(document, $ref))
    for (const several of [allOf, oneOf, anyOf]) if (Array.isArray(several)) waiting.push(...(several as unknown[]))
    waiting.push(...(Array.isArray(items) ? (items as unknown[]) : [items]))
    for (const text of [...(Array.isArray(listed) ? (listed as unknown[]) : []), only]) {
      if (typeof text === 'string') texts.add(text)
    }
    if (!isObject(properties)) continue
    for (const [name, member] of Object.entries(properties)) members.set(name, [...(members.get(name) ?? []), member])
  }
  return { members, texts }
}

/** What a reference within the document leads to; one to another document is not followed. Pure. */
function referredTo(document: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<unknown>((at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined), document)
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

/** The schemas of bodies in JSON, of a request or of an answer, references to shared ones followed. Pure. */
export function bodySchemas(document: unknown, holder: unknown): unknown[] {
  const body = isObject(holder) && typeof holder.$ref === 'string' ? referredTo(document, holder.$ref) : holder
  if (!isObject(body) || !isObject(body.content)) return []
  return Object.entries(body.content as WireObject)
    .filter(([type]) => /json/i.test(type))
    .flatMap(([, media]) => (isObject(media) ? [media.schema] : []))
}
