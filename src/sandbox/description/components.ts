import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** Collects the schemas of one description: what has an id becomes a component, and is referred to. */
export type Components = {
  /** The schema as it stands in the description. `input`: what is sent; `output`: what is answered. */
  add(schema: z.ZodType, io: 'input' | 'output'): JsonSchema
  /** By name, in alphabetical order. */
  all(): Record<string, JsonSchema>
}

export function createComponents(): Components {
  const known = new Map<string, JsonSchema>()
  return {
    add: (schema, io) => {
      const { $schema: _, $defs = {}, ...rest } = z.toJSONSchema(schema, { io, override: tidy })
      for (const [name, component] of Object.entries($defs)) {
        const moved = pointToComponents(component) as JsonSchema
        const other = known.get(name)
        if (other && !isDeepStrictEqual(other, moved)) throw new TypeError(`two schemas have the id ${name}`)
        known.set(name, moved)
      }
      return pointToComponents(rest) as JsonSchema
    },
    all: () => Object.fromEntries([...known].sort(([left], [right]) => (left < right ? -1 : 1))),
  }
}

/** Formats that say as much as the pattern which zod adds to them. */
const wellKnownFormats = ['uuid', 'date', 'date-time', 'uri']

/**
 * Takes out what nobody needs to read: patterns of well-known formats, the bounds of exact integers, and that members
 * may be added, which is the rule anyway.
 */
function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (typeof jsonSchema.format === 'string' && wellKnownFormats.includes(jsonSchema.format)) delete jsonSchema.pattern
  if (isEmpty(jsonSchema.additionalProperties)) delete jsonSchema.additionalProperties
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  delete jsonSchema.id
}

function isEmpty(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0
}

/** zod points to its own `$defs`; an OpenAPI document has its schemas elsewhere. */
function pointToComponents(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(pointToComponents)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === '$ref' && typeof value === 'string'
        ? [key, value.replace('#/$defs/', '#/components/schemas/')]
        : [key, pointToComponents(value)],
    ),
  )
}
