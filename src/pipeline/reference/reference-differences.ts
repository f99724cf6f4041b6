import type { ReferenceChange, ReferenceItem, ReferenceKind } from '../../db/tables/service-tables.ts'
import { itemsOf, type ReferenceDocument, type ReferenceItemState } from './reference-items.ts'

/**
 * What a fetch changes, document by document and item by item. Pure. Only what rows are judged by and what people
 * are shown counts: a document may change elsewhere, or list things in another order, without a difference.
 */
export function referenceDifferences(
  before: readonly ReferenceDocument[],
  after: readonly ReferenceDocument[],
): ReferenceChange[] {
  const old = byKey(before)
  const fresh = byKey(after)
  const keys = [...new Set([...old.keys(), ...fresh.keys()])].sort()
  return keys.flatMap((key) => documentDifferences(old.get(key), fresh.get(key)))
}

function byKey(documents: readonly ReferenceDocument[]): Map<string, ReferenceDocument> {
  return new Map(documents.map((document) => [`${document.kind} ${document.id}`, document]))
}

/**
 * Of a document that is removed every item is listed, because rows may use them; of one that is added only the whole.
 */
function documentDifferences(
  before: ReferenceDocument | undefined,
  after: ReferenceDocument | undefined,
): ReferenceChange[] {
  const one = after ?? before
  if (one === undefined) return []
  const about = aboutDocument(one)
  const old = before === undefined ? new Map<string, ReferenceItemState>() : itemsOf(before)
  const fresh = after === undefined ? new Map<string, ReferenceItemState>() : itemsOf(after)
  const changes: ReferenceChange[] = []
  for (const [key, item] of old) {
    const now = fresh.get(key)
    if (now === undefined) changes.push({ ...about, ...named(item), change: 'removed', detail: null })
    else if (now.says !== item.says) {
      const detail = `${item.says || 'nothing'} → ${now.says || 'nothing'}`
      changes.push({ ...about, ...named(now), change: 'changed', detail })
    }
  }
  for (const [key, item] of fresh) {
    if (old.has(key) || (before === undefined && item.item !== 'document')) continue
    changes.push({ ...about, ...named(item), change: 'added', detail: item.says || null })
  }
  return changes
}

function aboutDocument(document: ReferenceDocument): {
  kind: ReferenceKind
  document_id: string
  document_name: string
} {
  const name = [...itemsOf(document).values()].find(({ item }) => item === 'document')?.name ?? ''
  return { kind: document.kind, document_id: document.id, document_name: name }
}

function named(item: ReferenceItemState): {
  item: ReferenceItem
  item_id: string
  item_name: string
  within_id: string | null
} {
  return { item: item.item, item_id: item.id, item_name: item.name, within_id: item.within }
}
