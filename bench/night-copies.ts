import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { schemaName } from '../src/db/migrate-to-latest.ts'

/** What a copy took by the clock, and how many rows went through it. */
export type Copied = { what: string; seconds: number; rows: number; bytes: number }

/** A table and the query for the rows that it would be loaded with, in the order in which they lie best. */
type Ready = { table: string; columns?: string; from: string }

/**
 * The ledger as the first extraction leaves it: with the columns that landing writes. Change it with the tables: it is
 * the only place of this benchmark that knows them.
 */
const ledger: readonly Ready[] = [
  {
    table: 'source_row',
    columns: 'row_id, stream, partner_id, row_key, content, desired_hash, contradiction',
    from: `select row_id, stream, partner_id, row_key, content, desired_hash, contradiction
           from source_row order by stream, row_key`,
  },
  {
    table: 'acceptance',
    columns: 'row_id, partner_id, wanted_hash, checked_hash, judged_by, invalid_reason',
    from: `select row_id, acceptance.partner_id, wanted_hash, checked_hash, judged_by, invalid_reason
           from acceptance join source_row using (row_id) order by stream, row_key`,
  },
]

/** What the rows of requests were sent as, and what became of them. */
const outcomes: readonly Ready[] = [
  { table: 'submission_row', from: 'select * from submission_row order by submission_id, row_id' },
  { table: 'mapping', from: 'select * from mapping order by partner_id' },
]

/** What was brought back. */
const values: readonly Ready[] = [
  { table: 'custom_property', from: 'select * from custom_property order by property_key' },
  { table: 'calculator_variable', from: 'select * from calculator_variable order by variable_key' },
  { table: 'company', from: 'select * from company order by company_key' },
  { table: 'company_property', from: 'select * from company_property order by company_key, property_key, ordinal' },
  { table: 'calculator', from: 'select * from calculator order by calculator_key' },
  {
    table: 'calculator_value',
    from: 'select * from calculator_value order by company_key, calculator_key, direction, variable_key',
  },
]

/** The contents that requests carry, in the order of the requests. */
const bodies = `select content from submission_row join source_row using (row_id) order by submission_id, partner_id, row_id`

const pieceBytes = 1024 * 1024

/** The limits of a first night, each measured with its own rows and one connection. */
export async function bareCopies(
  own: pg.Client,
  partnerUrl: string,
  streams: readonly string[],
  folder: string,
): Promise<Copied[]> {
  const partner = new pg.Client({ connectionString: partnerUrl })
  partner.on('error', () => {})
  await partner.connect()
  try {
    return [
      await copyOut('out of the partner', partner, streams),
      await copyIn('into the ledger', own, ledger, folder),
      await copyOut('bodies out', own, [bodies]),
      await copyIn('outcomes in', own, outcomes, folder),
      await copyIn('values in', own, values, folder),
    ]
  } finally {
    await partner.end()
  }
}

/** Reads what queries yield and throws it away. */
async function copyOut(what: string, client: pg.Client, queries: readonly string[]): Promise<Copied> {
  const copied: Copied = { what, seconds: 0, rows: 0, bytes: 0 }
  await timed(copied, async () => {
    for (const query of queries) {
      const copy = client.query(copyTo(`copy (${query}) to stdout`))
      for await (const piece of copy as AsyncIterable<Buffer>) copied.bytes += piece.length
      copied.rows += copy.rowCount ?? 0
    }
  })
  return copied
}

/** Loads ready rows into empty tables with the same columns, constraints and indexes, in one transaction. */
async function copyIn(what: string, client: pg.Client, tables: readonly Ready[], folder: string): Promise<Copied> {
  const copied: Copied = { what, seconds: 0, rows: 0, bytes: 0 }
  await client.query('create schema bare')
  for (const { table, from } of tables) {
    await client.query(`create table bare.${table} (like ${schemaName}.${table} including all)`)
    await pipeline(client.query(copyTo(`copy (${from}) to stdout`)), createWriteStream(join(folder, table)))
  }
  await client.query('checkpoint')
  await timed(copied, async () => {
    await client.query('begin')
    for (const { table, columns } of tables) {
      const copy = client.query(
        copyFrom(`copy bare.${table} ${columns === undefined ? '' : `(${columns})`} from stdin`),
      )
      await pipeline(createReadStream(join(folder, table), { highWaterMark: pieceBytes }), copy)
      copied.rows += copy.rowCount
    }
    await client.query('commit')
  })
  const { rows } = await client.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(c.oid))::text as bytes from pg_class c
     where relnamespace = 'bare'::regnamespace and relkind = 'r'`,
  )
  copied.bytes = Number(rows[0]?.bytes ?? 0)
  await client.query('drop schema bare cascade')
  return copied
}

async function timed(copied: Copied, work: () => Promise<void>): Promise<void> {
  const began = performance.now()
  await work()
  copied.seconds = (performance.now() - began) / 1000
}
