import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { entityPicture } from './entity-picture.ts'
import { readPage, section } from './pages.ts'
import { describedColumns } from './view-columns.ts'

const { entities, relations } = entityPicture()
const shortNames: Record<string, string> = { 'timestamp with time zone': 'timestamptz' }

/** The columns of every view of the schema, with their types as the pages spell them. */
let views: Map<string, { name: string; type: string }[]>

beforeAll(async () => {
  const { url } = await testDatabase({ template: 'migrated' })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ view: string; name: string; type: string }>(
    `select relname as view, attname as name, format_type(atttypid, atttypmod) as type
     from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0
     where relnamespace = 'nightferry'::regnamespace and relkind = 'v' order by relname, attnum`,
  )
  await client.end()
  views = new Map()
  for (const { view, name, type } of rows) {
    views.set(view, [...(views.get(view) ?? []), { name, type: shortNames[type] ?? type }])
  }
})

afterAll(() => views.clear())

test('the entity picture shows views as the catalogue has them, column by column', () => {
  expect(entities.length).toBeGreaterThanOrEqual(5)
  for (const { name, columns } of some(entities)) expect(columns, name).toEqual(views.get(name))
})

test('the entity picture has every view that people query for what came back', () => {
  const names = entities.map(({ name }) => name)
  const wanted = ['companies', 'company_properties', 'calculators', 'calculator_variables', 'calculator_values']
  wanted.push('value_changes', 'calculator_value_history')
  expect(names).toEqual(expect.arrayContaining(wanted))
})

test.each(relations)('the columns by which $many belong to $one are in both, of one type', ({ one, many, columns }) => {
  const typeOf = (view: string, column: string) => views.get(view)?.find(({ name }) => name === column)?.type
  expect(columns).not.toEqual([])
  for (const column of some(columns)) {
    expect(typeOf(one, column), `${one}.${column}`).toBeDefined()
    expect(typeOf(many, column), `${many}.${column}`).toBe(typeOf(one, column))
  }
})

test('every column of every view has in docs/tables.md its type, a null and a meaning', () => {
  const described = [...views.keys()].flatMap((view) => describedColumns(view).map((column) => ({ view, ...column })))
  expect([...new Set(described.map(({ view }) => view))]).toEqual([...views.keys()])
  for (const { view, name, type, whenNull, meaning } of some(described)) {
    const real = views.get(view)?.find((column) => column.name === name)?.type
    expect(type, `${view}.${name}`).toBe(real)
    expect(whenNull, `when ${view}.${name} is null`).toMatch(/^(never|if|of|until|unless|where|while)\b/)
    expect(meaning, `what ${view}.${name} means`).toMatch(/\.$/)
  }
})

test('the check of the picture sees a line that it cannot read', () => {
  expect(() => entityPicture('```mermaid\nerDiagram\n  a }o--o{ b : "x"\n```')).toThrow(/nobody can read/)
  expect(() => entityPicture(section(readPage('docs/tables.md'), 'companies'))).toThrow(/no erDiagram/)
})
