/**
 * What people write: the page fetched and parsed whole, and upserted with statements of many rows in one transaction,
 * by the ids of the page. No more careful than that: what a page leaves out stays, and nothing is judged.
 */
import type pg from 'pg'
import type { Contract } from '../src/exchange/contract.ts'
import { monthNumber } from '../src/exchange/wire-value.ts'

/** Tables of the shape of Nightferry's, with the same foreign keys, keyed by what the page calls things. */
const tables = `
create schema people;
create table people.property (id text primary key, name text not null);
create table people.variable (id text primary key, name text not null);
create table people.company (id uuid primary key, name text not null, changed_at timestamptz not null default now());
create table people.company_property (
  company_id uuid references people.company, property_id text references people.property, ordinal integer, value text not null,
  primary key (company_id, property_id, ordinal)
);
create table people.calculator (
  id uuid primary key, company_id uuid not null references people.company, type_id uuid not null, title text not null,
  year integer not null, month smallint, changed_at timestamptz not null default now()
);
create index on people.calculator (company_id);
create table people.value (
  calculator_id uuid, direction text, variable_id text, value text not null,
  primary key (calculator_id, direction, variable_id)
);`

/** Rows of a statement. 1,000, 2,500 and 5,000 took the same processor time, here and in the server; 500 took more. */
const rowsAtOnce = 1_000

type Cell = string | number | null
type Page = Record<string, { id: string; name: string }[]>
type Element = Record<string, unknown>

export async function makePeopleTables(db: pg.Pool): Promise<void> {
  await db.query(tables)
}

export async function emptyPeopleTables(db: pg.Pool): Promise<void> {
  await db.query(
    'truncate people.property, people.variable, people.company, people.company_property, people.calculator, people.value',
  )
}

export async function vacuumPeopleTables(db: pg.Pool): Promise<void> {
  await db.query('vacuum analyze people.company, people.calculator, people.value')
}

export async function loadAsPeopleDo(client: pg.PoolClient, url: string, contract: Contract): Promise<void> {
  const names = contract.names.calculatorsPage
  const response = await fetch(url)
  if (!response.ok) throw new Error(`the page's address answered ${response.status}`)
  const page = JSON.parse(await response.text()) as Page
  const companies = page[names.companies] as unknown as Element[]
  await client.query('begin')
  for (const [table, list] of [
    ['property', page[names.customProperties]],
    ['variable', page[names.calculatorVariables]],
  ] as const) {
    await upsert(
      client,
      `people.${table}`,
      ['id', 'name'],
      1,
      (list ?? []).map(({ id, name }) => [id, name]),
    )
  }
  await upsert(
    client,
    'people.company',
    ['id', 'name'],
    1,
    companies.map((company) => [company[names.id], company[names.name]] as Cell[]),
  )
  await upsert(client, 'people.company_property', ['company_id', 'property_id', 'ordinal', 'value'], 3, properties())
  await upsert(client, 'people.calculator', ['id', 'company_id', 'type_id', 'title', 'year', 'month'], 1, calculators())
  await upsert(client, 'people.value', ['calculator_id', 'direction', 'variable_id', 'value'], 3, values())
  await client.query('commit')

  function* properties(): Generator<Cell[]> {
    for (const company of companies) {
      for (const [property, given] of Object.entries((company[names.fields] ?? {}) as Record<string, string[]>)) {
        for (const [at, value] of given.entries()) yield [company[names.id] as string, property, at + 1, value]
      }
    }
  }
  function* calculators(): Generator<Cell[]> {
    for (const company of companies) {
      for (const calculator of company[names.calculators] as Element[]) {
        const period = calculator[names.period] as Record<string, unknown>
        const month = period[names.month] as string | undefined
        yield [
          calculator[names.id],
          company[names.id],
          calculator[names.typeId],
          calculator[names.title],
          period[names.year],
          month === undefined ? null : monthNumber(month),
        ] as Cell[]
      }
    }
  }
  function* values(): Generator<Cell[]> {
    for (const company of companies) {
      for (const calculator of company[names.calculators] as Element[]) {
        const id = calculator[names.id] as string
        for (const [direction, group] of [
          ['input', names.inputs],
          ['output', names.outputs],
        ] as const) {
          for (const [variable, value] of Object.entries((calculator[group] ?? {}) as Record<string, string>)) {
            yield [id, direction, variable, value]
          }
        }
      }
    }
  }
}

/** `INSERT … VALUES … ON CONFLICT (the first columns) DO UPDATE`, a batch of rows at a time. */
async function upsert(
  client: pg.PoolClient,
  table: string,
  columns: readonly string[],
  keys: number,
  rows: Iterable<readonly Cell[]>,
): Promise<void> {
  const whole = statement(table, columns, keys, rowsAtOnce)
  let parameters: Cell[] = []
  for (const row of rows) {
    parameters.push(...row)
    if (parameters.length < rowsAtOnce * columns.length) continue
    await client.query(whole, parameters)
    parameters = []
  }
  if (parameters.length > 0)
    await client.query(statement(table, columns, keys, parameters.length / columns.length), parameters)
}

function statement(table: string, columns: readonly string[], keys: number, rows: number): string {
  const width = columns.length
  const places = Array.from(
    { length: rows },
    (_, row) => `(${columns.map((_, at) => `$${row * width + at + 1}`).join(',')})`,
  )
  const taken = columns.slice(keys).map((column) => `${column} = excluded.${column}`)
  return (
    `insert into ${table} (${columns.join(', ')}) values ${places.join(',')} ` +
    `on conflict (${columns.slice(0, keys).join(', ')}) do update set ${taken.join(', ')}`
  )
}
