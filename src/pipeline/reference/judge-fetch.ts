import type { ReferenceKind } from '../../db/tables/reference-tables.ts'
import type { ReferenceDocument } from './reference-documents.ts'
import { itemsOf } from './reference-items.ts'

/**
 * Why a fetch of the reference data is not to be believed, or null. Pure. An empty list, or a framework without its
 * data points, more often comes from a fault at the service or from a changed answer than from a decision; taking it
 * would make every row invalid at once.
 *
 * @param minShare of what is known, 0 to 1; a fetch that brings less of anything is not believed. 0 believes
 * everything.
 */
export function whyNotBelieved(
  known: readonly ReferenceDocument[],
  fetched: readonly ReferenceDocument[],
  minShare: number,
): string | null {
  const after = new Map(countsOf(fetched).map(({ key, count }) => [key, count]))
  const listed = new Set(fetched.filter(isFramework).map(({ id }) => id))
  // Of a framework that is gone as a whole only the number of frameworks speaks.
  const before = countsOf(known).filter(({ framework }) => framework === null || listed.has(framework))
  const missing = before.flatMap(({ key, what, count }) => {
    const now = after.get(key) ?? 0
    return now < count * minShare ? [`${what}: ${now}, where ${count} were known`] : []
  })
  return missing.length === 0 ? null : missing.join('; ')
}

/** How many there are of something; `key` is the same in every fetch, `what` is for people. */
type Count = { key: string; what: string; count: number; framework: string | null }

const wholes = {
  unit_type: 'unit types',
  custom_property: 'custom properties',
  framework: 'frameworks',
} as const
const parts = { unit: 'units', question: 'questions', data_point: 'data points', option: 'options' } as const

/** How many there are of what rows refer to: of all documents, and data points framework by framework. */
function countsOf(documents: readonly ReferenceDocument[]): Count[] {
  const counts = new Map<string, Count>()
  const add = (key: string, what: string, framework: string | null) => {
    const count = counts.get(key)?.count ?? 0
    counts.set(key, { key, what, count: count + 1, framework })
  }
  for (const document of documents) {
    const items = [...itemsOf(document).values()]
    const name = items.find(({ item }) => item === 'document')?.name ?? ''
    for (const { item, within } of items) {
      // The units of a data point are those of the unit types once more.
      if (item === 'unit' && within !== null) continue
      const what = item === 'document' ? wholeOf(document.kind) : parts[item]
      if (what !== null) add(what, what, null)
      if (item === 'data_point') {
        add(`${what} ${document.id}`, `data points of framework "${name}" (${document.id})`, document.id)
      }
    }
  }
  return [...counts.values()]
}

/** No row refers to a group: the one that is configured is looked for by itself. */
function wholeOf(kind: ReferenceKind): string | null {
  return kind === 'group' ? null : wholes[kind]
}

function isFramework({ kind }: ReferenceDocument): boolean {
  return kind === 'framework'
}
