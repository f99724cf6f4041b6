import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { constants, open } from 'node:fs/promises'
import { basename } from 'node:path'
import type { LookupConfig } from '../../../config/lookup-settings.ts'
import type { Config } from '../../../config/schema.ts'
import { StopRun } from '../../deps.ts'
import { listed } from '../../streams/rules/reference-index.ts'
import { checkText, shown } from '../../streams/rules/row-content.ts'
import { CsvFault, type CsvRow, takeCsvRows } from './csv-rows.ts'

/** A table of the partner's codes, as its file has it now. */
export type Lookup = {
  name: string
  /** The name of its file, without the folder. */
  file: string
  /** Of all codes with their ids, in whatever order the file has them. */
  digest: string
  ids: ReadonlyMap<string, string>
}

/** Largest file: some 75,000 codes. Eight times as many took 340 MB. Larger tables are joined in the query. */
const maxBytes = 4 * 1024 * 1024
/** Longest code or id, in characters. */
const maxCellLength = 1_000
/** So many faults of a file are told: a person fixes them together. It is not read on behind one more. */
const mostFaults = 10
/** So many columns of a file are named where one is not there. */
const mostColumns = 20

/**
 * Reads the file of a lookup, as it is now.
 * @throws {StopRun} `lookup_unusable`, with the file and what is wrong with it, by line.
 */
export async function readLookup(name: string, config: LookupConfig): Promise<Lookup> {
  const { file } = config
  const refuse = (what: string): never => {
    throw new StopRun('lookup_unusable', `The lookup ${name} cannot be used: ${what}`)
  }
  const bytes = await readWhole(file).catch((error: Error) => refuse(`${file} ${error.message}`))
  if (!isUtf8(bytes)) return refuse(`${file} is not in UTF-8. Save it as "CSV UTF-8", or convert it with iconv.`)
  const { ids, faults } = await entriesOf(bytes, config)
  if (faults.length === 0) return { name, file: basename(file), digest: digestOf(ids), ids }
  const more = faults.length > mostFaults ? ['and more'] : []
  return refuse([`${file} has to be fixed`, ...faults.slice(0, mostFaults), ...more].join('\n  '))
}

/** The lookups of a stream, by the column whose codes they translate. */
export type ColumnLookups = ReadonlyMap<string, Lookup>

/**
 * The lookups of each of these streams that has any, with their files as they are now; each is read once.
 * @throws {StopRun} `lookup_unusable`
 */
export async function readLookups(
  { lookups, streams }: Pick<Config, 'lookups' | 'streams'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, ColumnLookups>> {
  const read = new Map<string, Lookup>()
  const found = new Map<string, ColumnLookups>()
  for (const stream of names) {
    const ofStream = new Map<string, Lookup>()
    for (const [column, name] of Object.entries(streams[stream]?.lookups ?? {})) {
      const config = lookups[name]
      if (config === undefined) throw new StopRun('config_invalid', `There is no lookup ${name} in the configuration.`)
      const lookup = read.get(name) ?? (await readLookup(name, config))
      read.set(name, lookup)
      ofStream.set(column, lookup)
    }
    if (ofStream.size > 0) found.set(stream, ofStream)
  }
  return found
}

/** @throws {Error} with the end of a sentence that begins with the file. */
async function readWhole(file: string): Promise<Buffer> {
  // To open a pipe takes until somebody writes into it, if one does not say that one will not wait.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'is not there.' : `cannot be read (${error.code}).`)
  })
  try {
    const before = await handle.stat()
    if (!before.isFile()) throw new Error('is no file.')
    if (before.size > maxBytes) {
      throw new Error(
        `has ${before.size} bytes, and a lookup may have ${maxBytes}: join a table of that size in the query.`,
      )
    }
    const bytes = await handle.readFile()
    const after = await handle.stat()
    if (bytes.length !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
      throw new Error('was written while it was read: write another file, and rename it to this name.')
    }
    return bytes
  } finally {
    await handle.close()
  }
}

/** The codes of a file with their ids, and what is wrong with it, a clause each. */
async function entriesOf(
  bytes: Buffer,
  { code: codeName, id: idName, separator }: LookupConfig,
): Promise<{ ids: Map<string, string>; faults: string[] }> {
  const ids = new Map<string, string>()
  const lines = new Map<string, number>()
  const faults: string[] = []
  const columns = { count: 0, code: -1, id: -1 }
  const take = (row: CsvRow): boolean => {
    if (columns.count === 0) {
      faults.push(...headFaults(row, [codeName, idName], separator))
      columns.count = row.cells.length
      columns.code = row.cells.indexOf(codeName)
      columns.id = row.cells.indexOf(idName)
      return faults.length === 0
    }
    const [code = '', id = ''] = [row.cells[columns.code], row.cells[columns.id]]
    const fault = rowFault(row, columns.count, { [codeName]: code, [idName]: id })
    const before = lines.get(code)
    if (fault !== null) faults.push(`line ${row.line}: ${fault}`)
    else if (before !== undefined) {
      faults.push(`line ${row.line}: the ${codeName} '${shown(code)}' stands in line ${before} already`)
    } else {
      ids.set(code, id)
      lines.set(code, row.line)
    }
    return faults.length <= mostFaults
  }
  try {
    await takeCsvRows(bytes, separator, take)
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    faults.push(`line ${error.line}: ${error.message}`)
  }
  if (faults.length === 0 && ids.size === 0) {
    faults.push(columns.count === 0 ? 'it is empty' : 'it has no code: nothing stands below the line of names')
  }
  return { ids, faults }
}

function headFaults({ line, cells }: CsvRow, wanted: readonly string[], separator: string): string[] {
  const [only = ''] = cells
  const other = [',', ';', '\t'].find((one) => one !== separator && only.includes(one))
  const hint =
    cells.length === 1 && other !== undefined ? `; set separator: ${JSON.stringify(other)} if its cells end there` : ''
  return wanted.flatMap((name) => {
    const found = cells.filter((cell) => cell === name).length
    if (found === 1) return []
    if (found > 1) return [`line ${line}: the column ${name} stands there ${found} times`]
    return [`line ${line}: there is no column ${name}; there are ${listed(cells.map(shown), mostColumns)}${hint}`]
  })
}

/** @param used the cells that count, by their columns. */
function rowFault({ cells }: CsvRow, wanted: number, used: Readonly<Record<string, string>>): string | null {
  if (cells.length !== wanted) return `it has ${cells.length} cells, and the line of names has ${wanted}`
  for (const [name, cell] of Object.entries(used)) {
    if (cell.trim() === '') return `${name} is empty`
    const problem = checkText(name, cell, Number.MAX_SAFE_INTEGER)
    if (problem !== null) return problem
    if (cell.length > maxCellLength) return `${name} is longer than ${maxCellLength} characters`
  }
  return null
}

function digestOf(ids: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256')
  for (const entry of Array.from(ids, (one) => JSON.stringify(one)).sort()) hash.update(`${entry}\n`)
  return hash.digest('hex')
}
