import type { PartsShape } from '../streams/stream.ts'

type PartnerValues = readonly (string | null)[]

/**
 * Tells which partner rows are further parts of the ledger row that another one began. They agree in all columns but
 * those that are a part's own, so nothing else of them need be read: most rows of such a stream are of that sort.
 */
export class RowParts {
  /** Where in the content parts stand. */
  readonly key: PartsShape['key']
  readonly #name: number
  readonly #value: number
  readonly #common: readonly number[]
  readonly #isName: PartsShape['isName']
  #first: PartnerValues | null = null

  constructor(columns: readonly string[], { key, name, value, isName }: PartsShape) {
    this.key = key
    this.#name = columns.indexOf(name)
    this.#value = columns.indexOf(value)
    this.#common = columns.flatMap((column, at) => (column === name || column === value ? [] : [at]))
    this.#isName = isName
  }

  /** A ledger row begins with this partner row. */
  begin(values: PartnerValues): void {
    this.#first = this.#isName(values[this.#name]) ? values : null
  }

  /** Whether this partner row is a further part of what was begun. */
  isFurther(values: PartnerValues): boolean {
    const first = this.#first
    if (first === null || !this.#isName(values[this.#name])) return false
    return this.#common.every((at) => values[at] === first[at])
  }

  nameOf(values: PartnerValues): string {
    return values[this.#name] ?? ''
  }

  valueOf(values: PartnerValues): string | null {
    return values[this.#value] ?? null
  }
}
