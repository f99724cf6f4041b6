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

const quote = '"'

/**
 * The rows of a CSV text (RFC 4180): cells may stand in quotes, and hold separators, line ends and doubled quotes then.
 * Lines end in LF, CRLF or CR; empty ones are left out. Pure.
 * @throws {CsvFault} at a cell that begins or ends with a blank outside of quotes: whether it belongs to the cell,
 *   nobody can say; and at quotes that stand where none can.
 */
export function* csvRows(text: string, separator: string): Generator<CsvRow> {
  let at = 0
  let line = 1
  const endsHere = () => at >= text.length || text[at] === '\n' || text[at] === '\r'
  const takeLineEnd = () => {
    at += text.startsWith('\r\n', at) ? 2 : 1
    line += 1
  }
  const quoted = (): string => {
    const begun = line
    let cell = ''
    for (at += 1; ; ) {
      const end = text.indexOf(quote, at)
      if (end === -1) throw new CsvFault(begun, 'a cell begins with a quote, and no quote ends it')
      const piece = text.slice(at, end)
      line += piece.match(/\r\n|\r|\n/g)?.length ?? 0
      cell += piece
      at = end + 1
      if (text[at] !== quote) break
      cell += quote
      at += 1
    }
    if (!endsHere() && text[at] !== separator) {
      throw new CsvFault(line, 'something stands behind the quote that ends a cell; a quote in a cell is written ""')
    }
    return cell
  }
  const plain = (): string => {
    const from = at
    while (!endsHere() && text[at] !== separator) at += 1
    const cell = text.slice(from, at)
    if (cell.includes(quote))
      throw new CsvFault(line, `the cell ${cell} has a quote in it; put it in quotes: "a ""b"""`)
    if (cell.trim() !== cell) {
      throw new CsvFault(
        line,
        `the cell '${cell}' begins or ends with a blank; take it away, or put the cell in quotes`,
      )
    }
    return cell
  }
  while (at < text.length) {
    if (endsHere()) {
      takeLineEnd()
      continue
    }
    const row = { line, cells: [text[at] === quote ? quoted() : plain()] }
    while (!endsHere()) {
      at += 1
      row.cells.push(text[at] === quote ? quoted() : plain())
    }
    if (at < text.length) takeLineEnd()
    yield row
  }
}
