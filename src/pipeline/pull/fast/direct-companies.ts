import { bytesOfNumbers, type DirectWriter, Part } from '../merge/direct-writer.ts'
import type { KeyBlocks, Keys } from '../merge/key-blocks.ts'
import type { Content } from '../merge/known-companies.ts'
import type { PageCompany } from '../page-company.ts'
import { countValues } from '../stage-page.ts'
import { uuidLength } from './byte-cursor.ts'
import type { NameIndex } from './name-index.ts'
import { calculatorWidth, type PlainCompany, propertyWidth, valueWidth } from './plain-company.ts'

type Names = { variables: NameIndex; properties: NameIndex }

/** What a row of a new company says besides its content. */
type NewRow = { content: Content | null; listingKey: number }

/** Writes new companies with all of theirs as rows of the tables. Names that they refer to must have been resolved. */
export class DirectCompanies {
  readonly counts = { companies: 0, calculators: 0, values: 0 }
  readonly companyKeys: number[] = []
  readonly #lines: DirectWriter['lines']
  readonly #keys: KeyBlocks
  readonly #names: Names
  /** The keys with which the rows of a calculator's values begin. */
  readonly #owner = new Part(bytesOfNumbers)
  readonly #variables: Part[] = []
  #taken: Keys = { company: [], calculator: [] }

  constructor(writer: DirectWriter, keys: KeyBlocks, names: Names) {
    this.#lines = writer.lines
    this.#keys = keys
    this.#names = names
  }

  /** Takes keys for so many rows to come. */
  async reserve(companies: number, calculators: number): Promise<void> {
    // Taken from their end, and written in ascending order: an index that only grows at its end is filled, not split.
    const { company, calculator } = await this.#keys.take({ company: companies, calculator: calculators })
    this.#taken = { company: company.reverse(), calculator: calculator.reverse() }
  }

  /** A company as `pageCompany` gives it, with nothing left out. */
  add(company: PageCompany, row: NewRow): void {
    const { company_property: propertyLines, calculator: calculatorLines, calculator_value: valueLines } = this.#lines
    const values = countValues(company)
    const companyKey = this.#company(company.companyId, row, company.calculators.length, values, () =>
      this.#lines.company.text(company.name),
    )
    for (const { propertyId, ordinal, value } of company.properties) {
      propertyLines.field(companyKey)
      propertyLines.field(this.#names.properties.keyOf(this.#names.properties.numberOf(propertyId)))
      propertyLines.field(ordinal)
      propertyLines.text(value)
      propertyLines.end()
    }
    for (const { calculatorId, content } of company.calculators) {
      if (content === null) throw new Error(`the calculator ${calculatorId} was left out`)
      const calculatorKey = this.#take('calculator')
      calculatorLines.field(calculatorKey)
      calculatorLines.text(calculatorId)
      calculatorLines.tab()
      calculatorLines.field(companyKey)
      calculatorLines.text(content.typeId)
      calculatorLines.tab()
      calculatorLines.text(content.title)
      this.#period(content.year, content.month ?? 0)
      for (const { direction, variableId, value } of content.values) {
        valueLines.field(companyKey)
        valueLines.field(calculatorKey)
        valueLines.field(this.#names.variables.keyOf(this.#names.variables.numberOf(variableId)))
        valueLines.text(direction)
        valueLines.tab()
        valueLines.text(value)
        valueLines.end()
      }
    }
  }

  /** A company as places in its bytes and on the tape. */
  addPlain(company: PlainCompany, row: NewRow): void {
    const { bytes, view } = company
    const owner = this.#owner
    const tape = company.memory.tape.numbers
    const companyKey = this.#company(company.companyId, row, company.calculators, company.values, () =>
      this.#lines.company.bytes(bytes, company.nameFrom, company.nameTo),
    )
    let at = company.tapeFrom
    for (let count = 0; count < company.properties; count++, at += propertyWidth) {
      this.#plainProperty(companyKey, bytes, tape, at)
    }
    for (let count = 0; count < company.calculators; count++) {
      const calculatorKey = this.#take('calculator')
      this.#plainCalculator(companyKey, calculatorKey, bytes, tape, at)
      const end = at + calculatorWidth + (tape[at + 6] ?? 0) * valueWidth
      owner.setNumbers(companyKey, calculatorKey)
      for (at += calculatorWidth; at < end; at += valueWidth) {
        const variable = this.#variableOf(tape[at] ?? -1)
        this.#lines.calculator_value.row(owner, variable, view, tape[at + 1] ?? 0, tape[at + 2] ?? 0)
      }
    }
  }

  /** The company's own row; `name` writes its name. */
  #company(companyId: string, row: NewRow, calculators: number, values: number, name: () => void): number {
    const lines = this.#lines.company
    const companyKey = this.#take('company')
    lines.field(companyKey)
    lines.text(companyId)
    lines.tab()
    name()
    lines.tab()
    lines.text(row.content?.hash ?? null)
    lines.tab()
    if (row.content === null) lines.text(null)
    else lines.int(row.content.bytes)
    lines.tab()
    lines.field(row.listingKey)
    lines.field(calculators)
    lines.int(values)
    lines.end()
    this.companyKeys.push(companyKey)
    this.counts.companies++
    this.counts.calculators += calculators
    this.counts.values += values
    return companyKey
  }

  #plainProperty(companyKey: number, bytes: Buffer, tape: Int32Array, at: number): void {
    const lines = this.#lines.company_property
    lines.field(companyKey)
    lines.field(this.#names.properties.keyOf(tape[at] ?? -1))
    lines.field(tape[at + 1] ?? 0)
    lines.bytes(bytes, tape[at + 2] ?? 0, tape[at + 3] ?? 0)
    lines.end()
  }

  #plainCalculator(companyKey: number, calculatorKey: number, bytes: Buffer, tape: Int32Array, at: number): void {
    const lines = this.#lines.calculator
    const idFrom = tape[at] ?? 0
    const typeFrom = tape[at + 1] ?? 0
    lines.field(calculatorKey)
    lines.bytes(bytes, idFrom, idFrom + uuidLength)
    lines.tab()
    lines.field(companyKey)
    lines.bytes(bytes, typeFrom, typeFrom + uuidLength)
    lines.tab()
    lines.bytes(bytes, tape[at + 2] ?? 0, tape[at + 3] ?? 0)
    this.#period(tape[at + 4] ?? 0, tape[at + 5] ?? 0)
  }

  /** The fields of a value that name its variable and its direction, as they are written. */
  #variableOf(number: number): Part {
    const known = this.#variables[number]
    if (known !== undefined) return known
    const key = this.#names.variables.keyOf(number >> 1)
    const fields = Part.of(`${key}\t${(number & 1) === 0 ? 'i' : 'o'}\t`)
    this.#variables[number] = fields
    return fields
  }

  /** Ends a calculator's row. A month of 0 stands for a whole year. */
  #period(year: number, month: number): void {
    const lines = this.#lines.calculator
    lines.tab()
    lines.field(year)
    if (month === 0) lines.text(null)
    else lines.int(month)
    lines.end()
  }

  #take(table: keyof Keys): number {
    const key = this.#taken[table].pop()
    if (key === undefined) throw new Error(`too few keys were reserved for ${table}`)
    return key
  }
}
