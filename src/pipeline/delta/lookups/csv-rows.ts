import type { CsvErrorCode } from 'csv-parse/sync'
import { shown } from '../../streams/rules/row-content.ts'

/** A row of a CSV file, with the number of the line on which it begins. */
export type CsvRow = { line: number; cells: readonly string[] }

/** What keeps a text from being read as CSV, and on which line it is. */
export class CsvFault extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** What csv-parse refuses, in our words. */
const refused: Readonly<Partial<Record<CsvErrorCode, string>>> = {
  CSV_QUOTE_NOT_CLOSED: 'a cell begins with a quote, and no quote ends it',
  CSV_INVALID_CLOSING_QUOTE: 'something stands behind the quote that ends a cell; a quote in a cell is written ""',
  INVALID_OPENING_QUOTE: 'a cell without quotes around it has a quote in it; put it in quotes: "a ""b"""',
}

const byteOrderMark = Buffer.from('\ufeff')

/**
 * Gives the rows of a CSV file (RFC 4180, in UTF-8) to `take`, one after the other, until that answers false: cells may
 * stand in quotes, and hold separators, line ends and doubled quotes then. Lines end in LF, CRLF or CR; empty ones are
 * left out. A row with more or fewer cells than the first takes csv-parse many times as long: it makes an error of it.
 * @throws {CsvFault} at a cell that begins or ends with a blank outside of quotes: whether it belongs to the cell,
 *   nobody can say; and at quotes that stand where none can.
 */
export async function takeCsvRows(file: Buffer, separator: string, take: (row: CsvRow) => boolean): Promise<void> {
  // Loaded where it is wanted: most processes read no lookup.
  const { CsvError, parse } = await import('csv-parse/sync')
  const bytes = file.subarray(0, byteOrderMark.length).equals(byteOrderMark)
    ? file.subarray(byteOrderMark.length)
    : file
  const lineAt = lineCounter(bytes)
  const enough = new Error('no more rows are taken')
  let begin = 0
  try {
    parse(bytes, {
      delimiter: separator,
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      cast: (cell, { quoting, bytes: end }) => {
        if (quoting || cell.trim() === cell) return cell
        const words = `the cell '${shown(cell)}' begins or ends with a blank; take it away, or put the cell in quotes`
        throw new CsvFault(lineAt(end - Buffer.byteLength(cell)), words)
      },
      on_record: (cells: string[], { bytes: end }) => {
        const row = { line: lineAt(begin), cells }
        begin = end
        if (!take(row)) throw enough
        return null
      },
    })
  } catch (error) {
    if (error === enough) return
    if (!(error instanceof CsvError)) throw error
    const words = refused[error.code]
    throw words === undefined ? error : new CsvFault(lineAt(Number(error.bytes)), words)
  }
}

/**
 * The line of the first byte from an offset on that ends no line; offsets are asked for in order. csv-parse counts a
 * CRLF within quotes as two lines, and tells where a row and a cell end and not where they begin.
 */
function lineCounter(bytes: Buffer): (offset: number) => number {
  const [lf, cr] = [10, 13]
  let at = 0
  let line = 1
  return (offset) => {
    for (; at < offset || bytes[at] === lf || bytes[at] === cr; at += 1) {
      if (bytes[at] === lf || (bytes[at] === cr && bytes[at + 1] !== lf)) line += 1
    }
    return line
  }
}
