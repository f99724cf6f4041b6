import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
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

/**
 * The same rows on two connections: what others refer to first, then half of each table's rows on each, as far as
 * foreign keys allow it.
 */
export async function copyRowsOnTwo(pool: pg.Pool, folder: string): Promise<void> {
  const halves = ['calculator', 'calculator_value']
  for (const tables of [
    Object.keys(contents).filter((table) => !halves.includes(table)),
    ...halves.map((one) => [one]),
  ]) {
    const parts: Part[] = []
    for (const table of tables) {
      const file = fileOf(folder, table)
      if (!halves.includes(table)) {
        await copyPart(pool, { table, file })
        continue
      }
      const middle = await middleOf(file)
      parts.push({ table, file, end: middle - 1 }, { table, file, start: middle })
    }
    await Promise.all(parts.map((part) => copyPart(pool, part)))
  }
}

type Part = { table: string; file: string; start?: number; end?: number }

async function copyPart(pool: pg.Pool, { table, file, ...range }: Part): Promise<void> {
  const client = await pool.connect()
  try {
    const ready = createReadStream(file, { highWaterMark: pieceBytes, ...range })
    await pipeline(ready, client.query(copyFrom(`copy ${table} from stdin`)))
  } finally {
    client.release()
  }
}

/** Where the line begins that stands in the middle of a file. */
async function middleOf(file: string): Promise<number> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  const half = Math.floor(size / 2)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(pieceBytes), 0, pieceBytes, half)
  const lineEnd = buffer.subarray(0, bytesRead).indexOf('\n')
  if (lineEnd === -1) throw new Error(`${file} has no line that begins in its second half`)
  return half + lineEnd + 1
}

function fileOf(folder: string, table: string): string {
  return join(folder, `${table}.copy`)
}
