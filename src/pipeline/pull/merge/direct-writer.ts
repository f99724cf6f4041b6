import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Turns } from '../../../db/turns.ts'
import { LineBuffer } from './line-buffer.ts'

/** The tables that take rows as they are, with the columns given. No foreign key prescribes an order. */
const columns = {
  company: 'company_key, company_id, name, content_hash, content_bytes, listing_key, calculators, values',
  company_property: 'company_key, property_key, ordinal, value',
  calculator: 'calculator_key, calculator_id, company_key, type_id, title, period_year, period_month',
  calculator_value: 'company_key, calculator_key, variable_key, direction, value',
} as const

type DirectTable = keyof typeof columns

const tables = Object.keys(columns) as DirectTable[]

export type DirectWriter = {
  /** Where rows of each table are written, field by field, until they are copied. */
  lines: Readonly<Record<DirectTable, LineBuffer>>
  /** Begins to copy what was written, if that is worth a round trip, once the copy before is done. */
  drain(): Promise<void>
  /** Copies all that has been written. */
  flush(): Promise<void>
}

/**
 * Bytes of one table per COPY. While one batch is copied the next is made, so that at most two are kept. Fewer bytes
 * cost more round trips, during which the server has nothing to do.
 */
const batchBytes = 1024 * 1024

/** Memory to begin with: it grows, and megabytes for each of many small pages would be collected all the time. */
const firstBytes = 16 * 1024

/**
 * Writes new rows straight into the tables through COPY, on a connection that runs the page's transaction.
 * @param turns of all that use the connection at the same time.
 */
export function createDirectWriter(client: pg.ClientBase, turns: Turns): DirectWriter {
  const lines: Record<DirectTable, LineBuffer> = {
    company: new LineBuffer(firstBytes),
    company_property: new LineBuffer(firstBytes),
    calculator: new LineBuffer(firstBytes),
    calculator_value: new LineBuffer(firstBytes),
  }
  let copying: Promise<void> = Promise.resolve()

  async function copyNext(full: readonly DirectTable[]): Promise<void> {
    await copying
    const batch = full.map((table) => [table, lines[table].take()] as const)
    copying = turns.take(() => copyAll(client, batch))
    // Anyone who drains or flushes next is told.
    copying.catch(() => {})
  }

  return {
    lines,
    drain: async () => {
      const full = tables.filter((table) => lines[table].length >= batchBytes)
      if (full.length > 0) await copyNext(full)
    },
    flush: async () => {
      await copyNext(tables.filter((table) => lines[table].length > 0))
      await copying
    },
  }
}

async function copyAll(client: pg.ClientBase, batch: readonly (readonly [DirectTable, Buffer])[]): Promise<void> {
  for (const [table, rows] of batch) {
    const copy = client.query(copyFrom(`copy ${table} (${columns[table]}) from stdin`))
    copy.end(rows)
    await finished(copy)
  }
}
