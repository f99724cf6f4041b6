import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'

/** What a page becomes, in an order in which foreign keys allow it, each with the order in which its rows lie best. */
const contents = {
  custom_property: 'property_key',
  calculator_variable: 'variable_key',
  company: 'company_key',
  company_property: 'company_key, property_key, ordinal',
  calculator: 'calculator_key',
  calculator_value: 'company_key, calculator_key, direction, variable_key',
} as const

const pieceBytes = 1024 * 1024

/** Writes the rows of a loaded page down as COPY takes them, in the order of their keys, a file per table. */
export async function writeRows(client: pg.PoolClient, folder: string): Promise<void> {
  for (const [table, order] of Object.entries(contents)) {
    const rows = client.query(copyTo(`copy (select * from ${table} order by ${order}) to stdout`))
    await pipeline(rows, createWriteStream(fileOf(folder, table)))
  }
}

/** The limit: the same rows into the same tables, with their indexes and constraints, in one transaction. */
export async function copyRows(client: pg.PoolClient, folder: string): Promise<void> {
  await client.query('begin')
  for (const table of Object.keys(contents)) {
    const ready = createReadStream(fileOf(folder, table), { highWaterMark: pieceBytes })
    await pipeline(ready, client.query(copyFrom(`copy ${table} from stdin`)))
  }
  await client.query('commit')
}

function fileOf(folder: string, table: string): string {
  return join(folder, `${table}.copy`)
}
