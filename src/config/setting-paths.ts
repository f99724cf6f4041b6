import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { settings } from './schema.ts'

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

/** Every setting that has a value of its own, as dotted paths; streams and lookups are not among them. */
export function leafPaths(): string[] {
  const walk = (node: JsonSchema, path: string[]): string[] =>
    node.properties === undefined
      ? [path.join('.')]
      : Object.entries(node.properties).flatMap(([key, child]) => walk(child, [...path, key]))
  return walk(document, []).filter((path) => path !== 'streams' && path !== 'lookups')
}

/** What is known of the setting, section, stream or list entry at a path. */
function nodeAt(path: readonly string[]): JsonSchema {
  let node: JsonSchema = document
  for (const key of path) {
    const { properties, additionalProperties: others, items } = node
    node = properties?.[key] ?? (typeof others === 'object' ? others : undefined) ?? items ?? {}
  }
  return node
}

/** The names of what can be set in the section, stream or list entry at a path. */
function namesIn(path: readonly string[]): string[] {
  return Object.keys(nodeAt(path).properties ?? {})
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

/** A list of anything but plain texts is given as JSON. What is no valid JSON is left to the check to name. */
function listFromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function typesAt(path: string): string[] {
  const node = nodeAt(path.split('.'))
  return [node, ...(node.anyOf ?? [])].flatMap((entry) => entry.type ?? [])
}

/**
 * The setting that was probably meant by a path that sets nothing: a name like it in the same section, else a setting
 * of that name in another section, else a path like it as a whole. Null: none is near.
 */
export function likelySetting(path: string): string | null {
  const keys = path.split('.')
  const typed = keys.at(-1) ?? ''
  const section = keys.slice(0, -1)
  const sibling = nearestName(typed, namesIn(section))
  if (sibling !== null) return [...section, sibling].join('.')
  const elsewhere = leafPaths().filter((known) => known.endsWith(`.${typed}`))
  if (elsewhere.length > 0) return elsewhere.join(' or ')
  return nearestName(path, leafPaths())
}

/** The suggestion as the end of a sentence; nothing where there is none. */
export function meant(name: string | null): string {
  return name === null ? '' : `; was ${name} meant?`
}

/**
 * The name that was probably meant by one that there is not: equal but for case, `_` and `-`, begun alike, or a third
 * of it mistyped at most. Null: none is near. Pure.
 */
export function nearestName(typed: string, names: readonly string[]): string | null {
  const wanted = plain(typed)
  if (wanted === '') return null
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(wanted, plain(name)) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [nearest] = ranked
  return nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? nearest.name : null
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}

/** A name that only stops early is near: units stand at the end. */
function distanceOf(typed: string, name: string): number {
  const begun = typed.length >= 4 && name.startsWith(typed)
  return begun ? 0.5 : editDistance(typed, name)
}

/** How many letters have to be put in, taken out, replaced or swapped with the next (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (same ? 0 : 1),
        swapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = above
    above = current
  }
  return at(above, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}

/** The JSON Schema of the configuration file, made of the settings: what config/nightferry.schema.json has to say. */
export function configJsonSchema(): JsonSchema {
  return z.toJSONSchema(settings, { io: 'input', target: 'draft-2020-12' }) as JsonSchema
}
