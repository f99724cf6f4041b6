import {
  type BodyTemplate,
  type ColumnPlaceholder,
  placeholdersOf,
  type TemplateSetting,
} from '../../../exchange/body-template.ts'
import { exactNumber } from '../../streams/rules/answer-value.ts'
import { readExactJson } from './exact-json.ts'

/** Where placeholders find what they stand for; null: there is none. */
export type Filling = {
  column: (name: string) => string | null
  setting: (name: TemplateSetting) => string | null
}

/**
 * The first thing that keeps a row from being written by a template, or null. Settings are asked for when the program
 * starts, not row by row. Pure.
 */
export function templateProblem(template: BodyTemplate, column: Filling['column']): string | null {
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
