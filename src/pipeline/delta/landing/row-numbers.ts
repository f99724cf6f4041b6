import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Turns } from '../../../db/turns.ts'

/** Row numbers that are asked for at a time at least, and at most ahead. */
const fewestNumbers = 1_000
const mostNumbers = 16_000

/** The numbers of the rows to come, asked for in advance: once a chunk is with the server, an answer takes its time. */
export class RowNumbers {
  readonly #trx: Transaction<Schema>
  readonly #turns: Turns
  #coming: Promise<number[]> | null = null
  #numbers: number[] = []
  #taken = 0
  #asked = fewestNumbers

  constructor(trx: Transaction<Schema>, turns: Turns) {
    this.#trx = trx
    this.#turns = turns
  }

  async take(count: number): Promise<number[]> {
    while (this.#left < count) {
      this.#coming ??= this.#ask(count)
      this.#numbers = [...this.#numbers.slice(this.#taken), ...(await this.#coming)]
      this.#coming = null
      this.#taken = 0
    }
    this.#taken += count
    const numbers = this.#numbers.slice(this.#taken - count, this.#taken)
    // Half of them are left while more come, so that nobody waits for these.
    if (this.#left < this.#asked / 2) this.#coming ??= this.#ask(count)
    return numbers
  }

  get #left(): number {
    return this.#numbers.length - this.#taken
  }

  #ask(count: number): Promise<number[]> {
    this.#asked = Math.max(count, Math.min(this.#asked * 2, mostNumbers))
    const coming = this.#turns.take(() => nextRowIds(this.#trx, this.#asked))
    // Anyone who takes from it is told.
    coming.catch(() => {})
    return coming
  }
}

async function nextRowIds(trx: Transaction<Schema>, count: number): Promise<number[]> {
  const taken = sql`
    select nextval(sequence) as id
    from (select pg_get_serial_sequence('source_row', 'row_id')::regclass as sequence offset 0) named,
      generate_series(1, ${count}::integer)`
  const { rows } = await sql<{ first: number; last: number }>`
    select min(id) as first, max(id) as last from (${taken}) taken`.execute(trx)
  const [range] = rows
  if (range !== undefined && range.last - range.first === count - 1) {
    return Array.from({ length: count }, (_, index) => range.first + index)
  }
  // Somebody else took numbers meanwhile: these are let go, and the next are told one by one.
  const { rows: listed } = await sql<{ ids: number[] }>`select json_agg(id) as ids from (${taken}) taken`.execute(trx)
  return listed[0]?.ids ?? []
}
