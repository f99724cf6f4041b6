import { readFileSync } from 'node:fs'

/** The part of JSON Schema that the settings use. */
export type JsonSchema = {
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: JsonSchema | boolean
  items?: JsonSchema
  anyOf?: JsonSchema[]
  enum?: unknown[]
  minimum?: number
  maximum?: number
  description?: string
  default?: unknown
}

/**
 * The JSON Schema of the configuration file, as it comes with Nightferry: what it is generated from would take most of
 * the time in which a configuration is read. A test holds the two against each other.
 */
const document = JSON.parse(
  readFileSync(new URL('../../config/nightferry.schema.json', import.meta.url), 'utf8'),
) as JsonSchema

/** Every setting that has a value of its own, as dotted paths; streams are not among them. */
export function leafPaths(): string[] {
  const walk = (node: JsonSchema, path: string[]): string[] =>
    node.properties === undefined
      ? [path.join('.')]
      : Object.entries(node.properties).flatMap(([key, child]) => walk(child, [...path, key]))
  return walk(document, []).filter((path) => path !== 'streams')
}

/** The names of what can be set in the section, stream or list entry at a path. */
export function namesIn(path: readonly string[]): string[] {
  let node: JsonSchema = document
  for (const key of path) {
    const { properties, additionalProperties: others, items } = node
    node = properties?.[key] ?? (typeof others === 'object' ? others : undefined) ?? items ?? {}
  }
  return Object.keys(node.properties ?? {})
}

/** Reads a setting given as text (flag, environment, a reference in the file) as the type that the setting has. */
export function valueFromText(path: string, text: string): unknown {
  const types = typesAt(path)
  if (types.includes('null') && (text === 'null' || text === '')) return null
  if ((types.includes('number') || types.includes('integer')) && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if (types.includes('array') && text.trimStart().startsWith('[')) return listFromJson(text)
  if (types.includes('array')) return text === '' ? [] : text.split(/[,\n]/).map((entry) => entry.trim())
  return text
}

/** A list whose entries are no plain texts is given as JSON; what is none is left for the check to name. */
function listFromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function typesAt(path: string): string[] {
  let node = document
  for (const key of path.split('.')) node = node.properties?.[key] ?? {}
  return [node, ...(node.anyOf ?? [])].flatMap((entry) => entry.type ?? [])
}
