import { BatchMemory } from '../../../src/pipeline/pull/fast/batch-memory.ts'
import { CompanyShortcut } from '../../../src/pipeline/pull/fast/company-shortcut.ts'
import { NameIndex } from '../../../src/pipeline/pull/fast/name-index.ts'
import { PlainCompanyReader } from '../../../src/pipeline/pull/fast/plain-company.ts'
import { pageCompany } from '../../../src/pipeline/pull/page-company.ts'
import { pageName } from '../../../src/pipeline/pull/stage-page.ts'
import { doubledKey } from '../../../src/pipeline/reading/element-assembler.ts'
import { PageFormatError, type PageLimits } from '../../../src/pipeline/reading/page-limits.ts'
import { type PageElement, readPage } from '../../../src/pipeline/reading/read-page.ts'
import { parseCompany, splitPage } from '../../../src/pipeline/reading/split-page.ts'
import { defaultPageLimits } from './limits.ts'
import { contract } from './sample-page.ts'

/** What a page says, whichever way it was read. */
export type Reading = {
  elements: { kind: string; ordinal: number; value: unknown; decoded: unknown }[]
  /** Companies that were cut out as bytes. */
  cut: number
  /** Of them those that were read where they stand. */
  plain: number
}

/** Pieces of the sizes given, in turn; a size of 0 is an empty piece. Whatever is left comes as the last one. */
export async function* inPieces(
  bytes: Uint8Array,
  sizes: readonly number[],
): AsyncGenerator<Uint8Array, void, undefined> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
    if (start >= bytes.length) return
  }
  yield bytes.subarray(start)
}

export async function byReadPage(
  body: AsyncIterable<Uint8Array>,
  over: Partial<PageLimits> = {},
): Promise<Reading | PageFormatError> {
  const limits = { ...defaultPageLimits, ...over }
  return await orRefusal(async () => {
    const elements: Reading['elements'] = []
    for await (const element of readPage(body, { contract, limits })) elements.push(shown(element))
    return { elements, cut: 0, plain: 0 }
  })
}

/** @param how whether companies are searched for their end, or those that are written plainly are read at once. */
export async function bySplitPage(
  body: AsyncIterable<Uint8Array>,
  over: Partial<PageLimits> = {},
  how: 'search' | 'shortcut' = 'search',
): Promise<Reading | PageFormatError> {
  const limits = { ...defaultPageLimits, ...over }
  const shortcut = new CompanyShortcut(nobody, new PlainCompanyReader(contract, nameIndexes()), limits)
  const memory = BatchMemory.take()
  const options = { contract, limits, ...(how === 'shortcut' && { shortcut }) }
  return await orRefusal(async () => {
    const elements: Reading['elements'] = []
    let cut = 0
    let plain = 0
    for await (const batch of splitPage(body, options)) {
      for (const found of batch) {
        if (found.kind === 'companyMet') throw new Error('nobody is expected')
        const element = found.kind === 'companyBytes' && how === 'shortcut' ? shortcut.keep(found) : found
        if (element.kind === 'companyBytes') {
          cut++
          if (how === 'shortcut' && shortcut.read(element, memory) !== undefined) plain++
          const { ordinal } = element
          elements.push(shown({ kind: 'company', ordinal, value: parseCompany(element, limits) }))
        } else {
          elements.push(shown(element))
        }
      }
    }
    return { elements, cut, plain }
  })
}

const nobody = { prepare: async () => {}, meet: () => undefined }

function nameIndexes() {
  const noKeys = { keyOf: () => undefined, resolve: async () => {} }
  return { variables: new NameIndex(noKeys), properties: new NameIndex(noKeys) }
}

async function orRefusal(read: () => Promise<Reading>): Promise<Reading | PageFormatError> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof PageFormatError) return error
    throw error
  }
}

function shown({ kind, ordinal, value }: PageElement): Reading['elements'][number] {
  const decoded =
    kind === 'company'
      ? pageCompany(value, contract)
      : pageName(kind === 'customProperty' ? 'property_name' : 'variable_name', value, contract)
  return { kind, ordinal, value: spelt(value), decoded }
}

/** A value with everything told apart that could differ: the order of keys, -0, a doubled key. */
export function spelt(value: unknown): unknown {
  if (value === doubledKey) return { doubled: true }
  if (typeof value === 'number') return { number: Object.is(value, -0) ? '-0' : String(value) }
  if (Array.isArray(value)) return { array: value.map(spelt) }
  if (typeof value !== 'object' || value === null) return { value }
  return { object: Object.entries(value).map(([key, inner]) => [key, spelt(inner)]) }
}
