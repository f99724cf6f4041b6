import pg, { type PoolClient } from 'pg'
import { binaryFile, copyReady, type ReadyRows } from '../../../db/copy-ready.ts'
import type { Turns } from '../../../db/turns.ts'

const columns = {
  source_row: 'row_id, stream, partner_id, row_key, content, desired_hash',
  acceptance: 'row_id, partner_id, wanted_hash, checked_hash, judged_by, invalid_reason',
  kept_line: 'bucket, high, low, row_id',
} as const

type Table = keyof typeof columns
const tables = Object.keys(columns) as Table[]

/**
 * Bytes of contents that are copied at a time, while the next are made. The first chunk is small, so that the server
 * begins soon; each of the next is twice as large, because between two chunks the server waits.
 */
const firstChunkBytes = 64 * 1024
const chunkBytes = 1024 * 1024

/** Chunks that are with the server or wait for it, so that it never waits for us; each is held in memory. */
const chunksAhead = 2

/** Room for a chunk and the batch that fills it; of longer rows there may be more than fits. */
const roomBytes = { source_row: chunkBytes + 512 * 1024, acceptance: 1024 * 1024, kept_line: 512 * 1024 }

/** Lines of one table as bytes, and those of batches that did not fit. */
type Lines = { room: Buffer; bytes: number; further: Buffer[] }

type Chunk = Record<Table, Lines>

/** Rows of each table: of `kept_line`, where a snapshot is read, in COPY's binary form. */
export type Batch = Record<Exclude<Table, 'kept_line'>, string> & { kept_line: Buffer | '' }

/**
 * Copies the lines of all tables as soon as there are enough of them. A batch becomes bytes at once: as objects its
 * rows would be moved by every collection until they are sent. The bytes of a chunk that was copied are written over by
 * a later one, because V8 collects its whole heap each time that so many are allocated.
 */
export class DirectCopies {
  readonly #client: PoolClient
  readonly #turns: Turns
  readonly #copied: Chunk[] = []
  readonly #copying: Promise<void>[] = []
  #chunk = emptyChunk()
  #enough = firstChunkBytes

  constructor(client: PoolClient, turns: Turns) {
    this.#client = client
    this.#turns = turns
  }

  /** Whether nothing of the next chunk has come yet. */
  get isAtStart(): boolean {
    return this.#chunk.source_row.bytes === 0
  }

  async add(batch: Batch): Promise<void> {
    for (const table of tables) {
      const [lines, text] = [this.#chunk[table], batch[table]]
      const left = lines.room.length - lines.bytes
      // A character is three bytes at most.
      const fits = text.length * 3 <= left || Buffer.byteLength(text) <= left
      if (!fits) lines.further.push(Buffer.from(text))
      else if (typeof text === 'string') lines.bytes += lines.room.write(text, lines.bytes)
      else lines.bytes += text.copy(lines.room, lines.bytes)
    }
    const isFull = tables.some((table) => this.#chunk[table].further.length > 0)
    if (!isFull && this.#chunk.source_row.bytes < this.#enough) return
    this.#copy()
    this.#enough = Math.min(this.#enough * 2, chunkBytes)
    if (this.#copying.length > chunksAhead) await this.#copying.shift()
  }

  /** Copies what is left, and waits for all. */
  async end(): Promise<void> {
    if (!this.isAtStart) this.#copy()
    for (const copying of this.#copying) await copying
  }

  /**
   * What the first of all chunks failed of, once none is under way: what was asked after it fails because the
   * transaction is aborted (25P02), and says less.
   */
  async failure(): Promise<unknown> {
    const ended = await Promise.allSettled(this.#copying)
    const reasons = ended.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
    return reasons.find((reason) => !(reason instanceof pg.DatabaseError && reason.code === '25P02'))
  }

  #copy(): void {
    const chunk = this.#chunk
    this.#chunk = this.#copied.pop() ?? emptyChunk()
    const copying = this.#turns.take(async () => {
      const copies = tables.flatMap((table): ReadyRows[] => {
        const { room, bytes, further } = chunk[table]
        const into = `${table} (${columns[table]})`
        const rows = [room.subarray(0, bytes), ...further]
        if (table !== 'kept_line') return [{ into, rows }]
        return bytes === 0 && further.length === 0 ? [] : [{ into, binary: true, rows: binaryFile(rows) }]
      })
      await copyReady(this.#client, copies)
      for (const table of tables) Object.assign(chunk[table], { bytes: 0, further: [] })
      this.#copied.push(chunk)
    })
    // It is awaited before too many wait.
    copying.catch(() => {})
    this.#copying.push(copying)
  }
}

function emptyChunk(): Chunk {
  const linesOf = (table: Table): Lines => ({ room: Buffer.allocUnsafeSlow(roomBytes[table]), bytes: 0, further: [] })
  return { source_row: linesOf('source_row'), acceptance: linesOf('acceptance'), kept_line: linesOf('kept_line') }
}
