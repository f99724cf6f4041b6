import type pg from 'pg'

/**
 * Rows in COPY's text form, or in its binary one, and the table that takes them, with the columns:
 * `company (company_key, name)`.
 */
export type ReadyRows = { into: string; binary?: boolean; rows: readonly Uint8Array[] }

/**
 * Copies rows that are ready into tables, one table after the other. The bytes follow the statements at once: the
 * server takes them as soon as it has begun, and does not wait for us between two tables. If one of them fails, it
 * skips the rest (PostgreSQL, message flow of COPY operations).
 *
 * @returns when all are in their tables. Until then the bytes must stay as they are.
 */
export async function copyReady(client: pg.ClientBase, copies: readonly ReadyRows[]): Promise<void> {
  if (copies.length === 0) return
  await new Promise<void>((resolve, reject) => {
    client.query(new ReadyCopies(copies, resolve, reject))
  })
}

/** A statement that sends itself. The driver calls all that is public here; its types know `submit` alone. */
class ReadyCopies implements pg.Submittable {
  readonly #copies: readonly ReadyRows[]
  readonly #done: () => void
  readonly #failed: (error: unknown) => void
  /** Taken over by the driver where the database's address has a `query_timeout`: to call it stops the clock. */
  callback: () => void = () => {}

  constructor(copies: readonly ReadyRows[], done: () => void, failed: (error: unknown) => void) {
    this.#copies = copies
    this.#done = done
    this.#failed = failed
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection
    stream.cork()
    const binary = ' with (format binary)'
    connection.query(this.#copies.map((copy) => `copy ${copy.into} from stdin${copy.binary ? binary : ''}`).join('; '))
    for (const { rows } of this.#copies) {
      for (const bytes of rows) {
        stream.write(copyData(bytes.length))
        stream.write(bytes)
      }
      stream.write(copyDone)
    }
    stream.uncork()
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback()
    this.#done()
  }

  handleError(error: unknown): void {
    this.callback()
    this.#failed(error)
  }
}

/** The message CopyDone: its letter, and a length that counts itself. */
const copyDone = Buffer.from([0x63, 0, 0, 0, 4])

/** What stands before the bytes of a message CopyData. */
function copyData(bytes: number): Buffer {
  const head = Buffer.from([0x64, 0, 0, 0, 0])
  head.writeUInt32BE(bytes + 4, 1)
  return head
}

/** What stands before and after rows in the binary form of COPY. */
const binaryHead = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const binaryEnd = Buffer.from([0xff, 0xff])

/**
 * Rows in the binary form of COPY, with what stands before and after them: each the number of its values, then each
 * value behind its length.
 */
export function binaryFile(rows: readonly Buffer[]): Buffer[] {
  return [binaryHead, ...rows, binaryEnd]
}

/** The same for rows that come by and by. */
export async function* binaryStream(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield binaryHead
  yield* rows
  yield binaryEnd
}
