import { z } from 'zod'
import { worldCompany, worldHead } from '../../src/world/world-form.ts'
import { blocks, code, sentence, table } from './markdown.ts'

type Schema = {
  type?: string
  format?: string
  description?: string
  enum?: readonly string[]
  const?: unknown
  default?: unknown
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: Schema | boolean
}

/** Every field of a world file, as it stands in docs/sandbox.md: of its first line, and of the lines below. */
export function worldReference(): string {
  const part = (title: string, schema: z.ZodType) =>
    blocks([title, table(['Field', 'Form', 'Meaning'], rowsOf('', z.toJSONSchema(schema, { io: 'input' }) as Schema))])
  return blocks([part('The first line:', worldHead), part('A line below it, one per company:', worldCompany)])
}

function rowsOf(path: string, { properties = {}, required = [] }: Schema): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = unwrapped(schema)
    const own = `${path}${name}`
    const row = [
      code(own),
      formOf(inner, required.includes(name)),
      schema.description ? sentence(schema.description) : '',
    ]
    const element = inner.items === undefined ? inner : unwrapped(inner.items)
    return [row, ...rowsOf(inner.items === undefined ? `${own}.` : `${own}[].`, element)]
  })
}

/** A field that may be null is that of its other form. */
function unwrapped(schema: Schema): Schema {
  return schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
}

function formOf(schema: Schema, required: boolean): string {
  return `${plainForm(schema)}${required ? '' : ', optional'}`
}

function plainForm({ type, format, enum: names, const: only, items, additionalProperties }: Schema): string {
  if (only !== undefined) return code(JSON.stringify(only))
  if (names !== undefined) return names.map((name) => code(name)).join(', ')
  if (items !== undefined) return items.properties === undefined ? `list of ${plainForm(unwrapped(items))}s` : 'list'
  if (format === 'uuid' || format === 'guid') return 'id'
  if (format === 'date' || format === 'date-time') return format === 'date' ? 'date' : 'time'
  if (typeof additionalProperties === 'object') return 'object by id or name'
  if (type === 'string') return 'text'
  return type === 'integer' ? 'whole number' : (type ?? 'any')
}
