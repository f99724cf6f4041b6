import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorldCompany } from '../../world/world-form.ts'
import type { Part } from './mirror-elements.ts'

/** Text of one bucket that is kept back before it is written; 256 buckets hold 16 MiB at most. */
const gatheredCharacters = 64 * 1024

/** Parts of companies on the disk, until all searches are through: 100,000 companies need not fit into memory. */
export type PartStore = {
  /** Where they lie; there is room for a page beside them. */
  folder: string
  /** @param search whose parts can be dropped together. */
  add(search: string, part: Part): Promise<void>
  /** Forgets what a search said: its pages could not be read to their end. */
  drop(search: string): Promise<void>
  /** The companies in an order that their ids alone decide, each put together from its parts, bucket by bucket. */
  companies(groups: readonly string[], isIdentifier: (property: string) => boolean): AsyncGenerator<WorldCompany>
  /** Removes everything from the disk. */
  remove(): Promise<void>
}

const buckets = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'))

/** By all of the id: where ids begin with the time, or end with the machine, one part of them would fill one bucket. */
function bucketOf(id: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return buckets[(hash >>> 24) ^ (hash & 0xff)] ?? '00'
}

/** @param prefix of a folder that is made for this, for its owner alone, and removed by `remove`. */
export async function openPartStore(prefix: string): Promise<PartStore> {
  const folder = await mkdtemp(prefix)
  const held = new Map<string, string>()
  const searches = new Set<string>()
  const fileOf = (name: string) => join(folder, name)
  const flush = async (name: string) => {
    const text = held.get(name) ?? ''
    held.delete(name)
    if (text !== '') await appendFile(fileOf(name), text, { mode: 0o600 })
  }
  const flushAll = async () => {
    for (const name of [...held.keys()]) await flush(name)
  }
  return {
    folder,
    add: async (search, part) => {
      if (!searches.has(search)) await flushAll()
      searches.add(search)
      const name = `${search}.${bucketOf(part.id)}`
      const text = `${held.get(name) ?? ''}${JSON.stringify(part)}\n`
      held.set(name, text)
      if (text.length >= gatheredCharacters) await flush(name)
    },
    drop: async (search) => {
      searches.delete(search)
      for (const bucket of buckets) {
        held.delete(`${search}.${bucket}`)
        await rm(fileOf(`${search}.${bucket}`), { force: true })
      }
    },
    companies: async function* (groups, isIdentifier) {
      await flushAll()
      const takenValues = new Set<string>()
      for (const bucket of buckets) {
        const found = new Map<string, WorldCompany>()
        for (const search of searches) {
          const text = await readFile(fileOf(`${search}.${bucket}`), 'utf8').catch(ifMissing)
          for (const line of text.split('\n')) if (line !== '') merge(found, JSON.parse(line) as Part, groups)
        }
        for (const company of [...found.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
          yield { ...company, properties: unambiguous(company.properties, isIdentifier, takenValues) }
        }
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

function ifMissing(error: unknown): string {
  if ((error as { code?: unknown }).code === 'ENOENT') return ''
  throw error
}

/** What a later part says of a detail wins where it says anything; lists add up. */
function merge(found: Map<string, WorldCompany>, part: Part, groups: readonly string[]): void {
  const before = found.get(part.id)
  const { calculators = [], periods = [], standards = [], properties = {}, ...details } = part
  const said = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null && value !== ''))
  found.set(part.id, {
    ...(before ?? empty(part.id, groups)),
    ...said,
    properties: { ...before?.properties, ...properties },
    calculators: each(({ id }) => id, before?.calculators, calculators),
    periods: each(({ periodType, year, month }) => `${periodType} ${year} ${month}`, before?.periods, periods),
    standards: each(({ standardId }) => standardId, before?.standards, standards),
  })
}

/** Each once, by its key, as it was said last: a page may repeat what another one says. */
function each<T>(keyOf: (item: T) => string, before: readonly T[] = [], added: readonly T[] = []): T[] {
  return [...new Map([...before, ...added].map((item) => [keyOf(item), item])).values()]
}

function empty(id: string, groups: readonly string[]): WorldCompany {
  return {
    ...{ id, name: '', street: null, latitude: null, longitude: null, countryCode: null, hotelCode: null },
    ...{ bookingId: null, groups: [...groups], properties: {}, automaticYearlyCalculation: false },
    ...{ automaticPublishing: false, calculators: [], periods: [], standards: [] },
  }
}

/** A value of an identifier names one company: the first that has it. */
function unambiguous(
  properties: WorldCompany['properties'],
  isIdentifier: (property: string) => boolean,
  taken: Set<string>,
): WorldCompany['properties'] {
  const entries = Object.entries(properties).map(([property, values]): [string, string[]] => {
    if (!isIdentifier(property)) return [property, values]
    const free = values.filter((value) => !taken.has(`${property} ${value}`))
    for (const value of free) taken.add(`${property} ${value}`)
    return [property, free]
  })
  return Object.fromEntries(entries)
}

/** Keeps a page on the disk while it is read: what was fetched only in part is fetched again from its beginning. */
export async function keepPage(folder: string, body: AsyncIterable<Uint8Array>): Promise<string> {
  const file = join(folder, 'page')
  await writeFile(file, body, { mode: 0o600 })
  return file
}
