import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { LineBuffer } from './line-buffer.ts'

/** The tables that take rows as they are, in the order in which their references allow it, with the columns given. */
const columns = {
  company: 'company_key, company_id, name, content_hash, listing_key, calculators, values',
  company_property: 'company_key, property_key, ordinal, value',
  calculator: 'calculator_key, calculator_id, company_key, type_id, title, period_year, period_month',
  calculator_value: 'company_key, calculator_key, variable_key, direction, value',
} as const

export type DirectTable = keyof typeof columns

const tables = Object.keys(columns) as DirectTable[]

export type DirectWriter = {
  /** Where rows of each table are written, field by field, until they are copied. */
  lines: Readonly<Record<DirectTable, LineBuffer>>
  /** Begins to copy what was written, if that is worth a round trip, once the copy before is done. */
  drain(): Promise<void>
  /** Copies all that has been written. */
  flush(): Promise<void>
}

/** Bytes per round trip. While one batch is copied the next is made, so that at most two are held. */
const batchBytes = 1024 * 1024

/** Writes new rows straight into the tables through COPY, on a connection that runs the page's transaction. */
export function createDirectWriter(client: pg.ClientBase): DirectWriter {
  const lines: Record<DirectTable, LineBuffer> = {
    company: new LineBuffer(batchBytes / 16),
    company_property: new LineBuffer(batchBytes / 16),
    calculator: new LineBuffer(batchBytes / 4),
    calculator_value: new LineBuffer(batchBytes + batchBytes / 4),
  }
  let copying: Promise<void> = Promise.resolve()

  async function copyNext(): Promise<void> {
    await copying
    const batch = tables
      .filter((table) => lines[table].length > 0)
      .map((table) => [table, lines[table].take()] as const)
    copying = copyAll(client, batch)
    // Whoever drains or flushes next is told.
    copying.catch(() => {})
  }

  return {
    lines,
    drain: async () => {
      if (tables.some((table) => lines[table].length >= batchBytes)) await copyNext()
    },
    flush: async () => {
      await copyNext()
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
