import {
  type BodyTemplate,
  type ColumnPlaceholder,
  placeholdersOf,
  type TemplateSetting,
} from '../../exchange/body-template.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { GenericKind } from '../../exchange/generic-kinds.ts'
import { exactNumber } from '../streams/rules/answer-value.ts'

/** Where placeholders find what they stand for; null: there is none. */
export type Filling = {
  column: (name: string) => string | null
  setting: (name: TemplateSetting) => string | null
}

/**
 * The first thing that keeps a row from being written by a template, or null. Settings are asked for when the program
 * starts, not row by row. Pure.
 */
function templateProblem(template: BodyTemplate, column: Filling['column']): string | null {
  for (const placeholder of placeholdersOf(template)) {
    if (placeholder.is !== 'column') continue
    const filled = columnValue(placeholder, column(placeholder.column))
    if ('problem' in filled) return filled.problem
  }
  return null
}

/**
 * A template with its placeholders filled, as a value for `JSON.stringify`; `undefined` where nothing is left of it.
 *
 * What is optional and absent leaves its member out, and an object or list of which nothing is left goes with it.
 * Values are never searched for placeholders, and members are set as own ones whatever they are called.
 * @throws when a row is written that preflight would have refused.
 */
export function fillTemplate(template: BodyTemplate, filling: Filling): unknown {
  switch (template.is) {
    case 'literal':
      return template.value
    case 'column':
      return columnOf(template, filling)
    case 'setting':
      return settingOf(template, filling)
    case 'object': {
      const members = template.members.map(([name, value]) => [name, fillTemplate(value, filling)] as const)
      const present = members.filter(([, value]) => value !== undefined)
      return members.length > 0 && present.length === 0 ? undefined : Object.fromEntries(present)
    }
    case 'list': {
      const present = template.items.map((item) => fillTemplate(item, filling)).filter((item) => item !== undefined)
      return template.items.length > 0 && present.length === 0 ? undefined : present
    }
    default:
      return template satisfies never
  }
}

function columnOf(placeholder: Extract<BodyTemplate, { is: 'column' }>, { column }: Filling): unknown {
  const filled = columnValue(placeholder, column(placeholder.column))
  if ('problem' in filled) throw new Error(`a row that preflight passed cannot be written: ${filled.problem}`)
  return filled.value
}

function settingOf({ setting: name, optional }: Extract<BodyTemplate, { is: 'setting' }>, { setting }: Filling) {
  const value = setting(name)
  if (value === null && !optional) throw new Error(`a body needs exchange.${name}, which is not set`)
  return value ?? undefined
}

/** What a placeholder puts into the body; `undefined`: nothing, the member is left out. */
type ColumnValue = { value: unknown } | { problem: string }

/**
 * A column's text as the template wants it, or what is wrong with it. Pure.
 *
 * Nothing is altered on the way: a number that a double cannot hold is a problem, not another number.
 */
export function columnValue({ column, as, optional }: ColumnPlaceholder, text: string | null): ColumnValue {
  if (text === null) return optional ? { value: undefined } : { problem: `${column} is empty` }
  const converted = convert(as, text)
  return 'problem' in converted ? { problem: `${column} ${converted.problem}` } : converted
}

function convert(as: ColumnPlaceholder['as'], text: string): ColumnValue {
  switch (as) {
    case 'text':
      return { value: text }
    case 'number': {
      const exact = exactNumber(text)
      return 'problem' in exact ? exact : { value: exact.number }
    }
    case 'boolean':
      if (text === 'true' || text === 'false') return { value: text === 'true' }
      return { problem: `'${text.slice(0, 60)}' is no boolean: true or false is expected` }
    case 'json':
      return readExactJson(text)
    default:
      return as satisfies never
  }
}

/** Deeper values are a mistake, and would end in the stack of anyone who writes them. */
const maxDepth = 64

/** Strings and numbers of a text that is known to be JSON; a string is taken whole, whatever it holds. */
const stringOrNumber = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * A JSON text as a value that says the same when it is written again, or why there is none: numbers that a double
 * cannot hold, a member that is named twice, too deep a nesting. Pure.
 */
function readExactJson(text: string): { value: unknown } | { problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: `'${text.slice(0, 60)}' is no JSON` }
  }
  let named = 0
  let escaped = false
  for (const [token, colon] of text.matchAll(stringOrNumber)) {
    if (token.startsWith('"')) {
      if (colon !== undefined) named += 1
      if (colon !== undefined && token.includes('\\')) escaped = true
      continue
    }
    const exact = exactNumber(token)
    if ('problem' in exact) return { problem: `holds a number that JSON does not keep: ${exact.problem}` }
  }
  if (countMembers(value) === null) return { problem: `is nested more than ${maxDepth} levels deep` }
  if (escaped) value = withNamesAsTexts(text)
  const members = countMembers(value)
  return members === named ? { value } : { problem: 'names a member of an object twice' }
}

const textOrMark = /"(?:[^"\\]|\\.)*"|[{}:]/g

/** Objects as the list of their names and values, under a name without escapes. */
const asLists: Record<string, string> = { '{': '{"":[', ':': ',', '}': ']}' }

/**
 * What a text says that is known to be JSON and not deep, where names have escapes: V8 up to 14.6 at least may take
 * such a name for another that it has met before, https://github.com/nodejs/node/issues/63785. Texts that are no names
 * it reads.
 */
function withNamesAsTexts(text: string): unknown {
  return objectsOf(JSON.parse(text.replaceAll(textOrMark, (token) => asLists[token] ?? token)))
}

function objectsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(objectsOf)
  if (typeof value !== 'object' || value === null) return value
  const { '': list } = value as { '': unknown[] }
  const members = list.flatMap((name, at) => (at % 2 === 0 ? [[String(name), objectsOf(list[at + 1])] as const] : []))
  return Object.fromEntries(members)
}

/**
 * Members of all objects in a value, or null when it is nested too deep. Without recursion, for it may be very deep.
 */
function countMembers(value: unknown): number | null {
  let members = 0
  const open: [value: unknown, depth: number][] = [[value, 0]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [current, depth] = next
    if (typeof current !== 'object' || current === null) continue
    if (depth >= maxDepth) return null
    if (!Array.isArray(current)) members += Object.keys(current).length
    for (const inner of Object.values(current)) open.push([inner, depth + 1])
  }
  return members
}

/** What keeps a row of a stream that the contract adds from being sent, or null. Pure. */
export function checkTemplateRow(
  { kinds }: Contract,
  stream: string,
  partnerId: string,
  content: Readonly<Record<string, unknown>>,
): string | null {
  const kind = kinds.find((one) => one.stream === stream)
  if (kind === undefined)
    return `no kind of request carries the stream ${stream}: the contract file describes none (any more)`
  const column = columnsOf(kind, partnerId, content)
  const { head, element, inner } = kind.body
  return (
    // A request is named after what keeps it apart: where that is empty, there is none.
    templateProblem(head, (name) => column(name) || null) ??
    templateProblem(element, column) ??
    (inner === null ? null : templateProblem(inner.element, column))
  )
}

function columnsOf(kind: GenericKind, partnerId: string, content: Readonly<Record<string, unknown>>) {
  return (name: string): string | null => {
    if (name === kind.partnerId) return partnerId
    const value = content[name]
    return typeof value === 'string' ? value : null
  }
}
