import { z } from 'zod'

type Shape = Record<string, z.ZodType>

/** What has been read: an absent member and null are both null. */
type Read<S extends Shape> = {
  [K in keyof S]: undefined extends z.output<S[K]> ? Exclude<z.output<S[K]>, undefined> | null : z.output<S[K]>
}

type WireDefinition = z.core.$ZodObjectDef & { members: readonly { own: string; name: string; schema: z.ZodType }[] }

/** Reads member by member straight into the object of our names: requests contain millions of these. */
const WireObject = z.core.$constructor('WireObject', (object: z.ZodObject, definition: WireDefinition) => {
  z.ZodObject.init(object, definition)
  const refuse = object._zod.parse.bind(object._zod)
  object._zod.parse = (payload, context) => {
    const sent = payload.value
    if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return refuse(payload, context)
    const read: Record<string, unknown> = {}
    for (const { own, name, schema } of definition.members) {
      const result = schema._zod.run({ value: (sent as Record<string, unknown>)[name], issues: [] }, context)
      if (result instanceof Promise) throw new TypeError('a request body is read synchronously')
      if (result.issues.length > 0) payload.issues.push(...z.core.util.prefixIssues(name, result.issues))
      read[own] = result.value ?? null
    }
    payload.value = read
    return payload
  }
})

/**
 * An object of a request body: `shape` says what each member is, `names` what it is called on the wire. Reading
 * gives the members under our own names. Members that `shape` does not have are ignored, as new optional fields are.
 */
export function wire<const S extends Shape>(names: { [K in keyof S]: string }, shape: S): z.ZodType<Read<S>> {
  const members = Object.entries(shape).map(([own, schema]) => ({ own, name: names[own as keyof S], schema }))
  const onTheWire = Object.fromEntries(members.map(({ name, schema }) => [name, schema]))
  return new WireObject({ type: 'object', shape: onTheWire, members }) as unknown as z.ZodType<Read<S>>
}

/** A text, an optional text, and so on: the members that most requests are made of. */
export const text = z.string()
export const optionalText = z.string().nullish()
export const optionalNumber = z.number().nullish()
export const optionalBoolean = z.boolean().nullish()

/** An id by which something is looked up later: no UUID is demanded, since one that is none is nobody's id. */
export const idText = z.string().toLowerCase()
export const optionalIdText = z.string().toLowerCase().nullish()

/** The same of a row, which is told as it was sent if it fails: only what looks the id up lowers its letters. */
export const idAsSent = z.string().meta({ format: 'uuid' })

/**
 * An id without which the request means nothing: blank, it is missing. One that is no UUID belongs to nobody, and is
 * refused like any other that does not belong to the profile (specification, Errors).
 */
export const requiredId = z.string().min(1).toLowerCase().meta({ format: 'uuid' })

/** A UUID, read in lower case. */
export const optionalUuid = z.guid().toLowerCase().nullish()

/**
 * Something that a row says and that is judged when the row is processed: a wrong value fails the row and not the
 * request. `published` is what the description says of it: what the row should contain.
 */
export function judgedLater(published: z.ZodType): z.ZodOptional<z.ZodUnknown> {
  return z.unknown().optional().meta(schemaOf(published))
}

/** An object that is kept as it was sent and judged when its row is processed; `published` as above. */
export function objectAsSent(published: z.ZodObject): z.ZodType<Record<string, unknown>> {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const schema = z.unknown().refine(isObject, 'Invalid input: expected object') as z.ZodType<Record<string, unknown>>
  return schema.meta(schemaOf(published))
}

function schemaOf(published: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(published, { io: 'input' })
  return schema
}

/** Faults after which reading a list ends: a million wrong rows make the same mistake a million times. */
const maxFaults = 20

/** A list whose reading ends early when much of it is wrong, so that a refusal costs no more than an acceptance. */
const WireList = z.core.$constructor('WireList', (list: z.ZodArray, definition: z.core.$ZodArrayDef) => {
  z.ZodArray.init(list, definition)
  const refuse = list._zod.parse.bind(list._zod)
  list._zod.parse = (payload, context) => {
    const sent = payload.value
    if (!Array.isArray(sent)) return refuse(payload, context)
    const read: unknown[] = []
    for (const [index, element] of sent.entries()) {
      const result = definition.element._zod.run({ value: element, issues: [] }, context)
      if (result instanceof Promise) throw new TypeError('a request body is read synchronously')
      if (result.issues.length > 0) {
        payload.issues.push(...z.core.util.prefixIssues(index, result.issues))
        if (payload.issues.length >= maxFaults) break
      }
      read.push(result.value)
    }
    payload.value = read
    return payload
  }
})

export function list<T extends z.ZodType>(element: T): z.ZodArray<T> {
  return new WireList({ type: 'array', element }) as unknown as z.ZodArray<T>
}

/** A list that may be absent; then it is empty. */
export function optionalList<T extends z.ZodType>(element: T): z.ZodType<z.output<T>[]> {
  return list(element)
    .nullish()
    .transform((sent) => sent ?? [])
}

/** Ids to select by: each once, in the order sent; absent is the same as none. */
export const selection: z.ZodType<string[]> = optionalList(idText).transform((ids) => [...new Set(ids)])
