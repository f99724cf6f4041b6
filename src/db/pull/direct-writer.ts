import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

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
  /** Adds lines of COPY's text format. */
  add(table: DirectTable, lines: string): void
  /** Begins to copy what was added, if that is worth a round trip, once the copy before is done. */
  drain(): Promise<void>
  /** Copies all that has been added. */
  flush(): Promise<void>
}

/** Characters per round trip. While one batch is copied the next is made, so that at most two are held. */
const batchCharacters = 1024 * 1024

/** Writes new rows straight into the tables through COPY, on a connection that runs the page's transaction. */
export function createDirectWriter(client: pg.ClientBase): DirectWriter {
  let pending = empty()
  let characters = 0
  let copying: Promise<void> = Promise.resolve()

  async function copyNext(): Promise<void> {
    await copying
    const batch = pending
    pending = empty()
    characters = 0
    copying = copyAll(client, batch)
    // Whoever drains or flushes next is told.
    copying.catch(() => {})
  }

  return {
    add(table, lines) {
      pending[table] += lines
      characters += lines.length
    },
    drain: async () => {
      if (characters >= batchCharacters) await copyNext()
    },
    flush: async () => {
      await copyNext()
      await copying
    },
  }
}

const empty = (): Record<DirectTable, string> => ({
  company: '',
  company_property: '',
  calculator: '',
  calculator_value: '',
})

async function copyAll(client: pg.ClientBase, batch: Record<DirectTable, string>): Promise<void> {
  for (const table of tables) {
    if (batch[table] === '') continue
    const copy = client.query(copyFrom(`copy ${table} (${columns[table]}) from stdin`))
    copy.end(batch[table])
    await finished(copy)
  }
}
