import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { loadContract } from '../../../src/exchange/contract.ts'

export const contract = loadContract(fileURLToPath(new URL('../../../config/contract.yaml', import.meta.url)))

/** A UUID that is the same for the same name in every run. */
export function uuid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export type SampleCalculator = {
  id: string
  typeId: string
  title: string
  period: { year: number; month?: string }
  inputs?: Record<string, string>
  outputs?: Record<string, string>
}

export type SampleCompany = {
  id: string
  name: string
  fields?: Record<string, string[]>
  calculators: SampleCalculator[]
}

export type SamplePage = {
  customProperties?: { id: string; name: string }[]
  calculatorVariables?: { id: string; name: string }[]
  companies: SampleCompany[]
}

export function calculator(name: string, over: Partial<SampleCalculator> = {}): SampleCalculator {
  return {
    id: uuid(name),
    typeId: uuid('carbon'),
    title: 'Carbon footprint',
    period: { year: 2025, month: 'March' },
    inputs: { electricity: '1234.50' },
    outputs: { total: '0.25' },
    ...over,
  }
}

export function company(name: string, over: Partial<SampleCompany> = {}): SampleCompany {
  return { id: uuid(name), name, calculators: [calculator(`${name}/1`)], ...over }
}

/** A page of these companies, with names for whatever variables and properties they refer to. */
export function samplePage(companies: SampleCompany[]): SamplePage {
  const properties = new Set(companies.flatMap(({ fields }) => Object.keys(fields ?? {})))
  const variables = new Set(
    companies.flatMap(({ calculators }) =>
      calculators.flatMap(({ inputs, outputs }) => [...Object.keys(inputs ?? {}), ...Object.keys(outputs ?? {})]),
    ),
  )
  const named = (ids: Set<string>) => [...ids].map((id) => ({ id, name: `name of ${id}` }))
  return {
    ...(properties.size > 0 && { customProperties: named(properties) }),
    ...(variables.size > 0 && { calculatorVariables: named(variables) }),
    companies,
  }
}

/** The bytes of a page as a body that arrives in pieces of `pieceBytes`. */
export async function* bodyOf(page: unknown, pieceBytes = 1_000): AsyncGenerator<Uint8Array, void, undefined> {
  const bytes = page instanceof Uint8Array ? page : Buffer.from(typeof page === 'string' ? page : JSON.stringify(page))
  for (let start = 0; start < bytes.byteLength; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes)
}
