/** The binary form of PostgreSQL's COPY: for rows that need no text, or hold long ones. */

const head = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const end = Buffer.from([0xff, 0xff])

/** Rows, with what stands before and after them: each the number of its values, then each value behind its length. */
export function binaryFile(rows: readonly Buffer[]): Buffer[] {
  return [head, ...rows, end]
}

/** The same for rows that come by and by. */
export async function* binaryStream(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head
  yield* rows
  yield end
}
