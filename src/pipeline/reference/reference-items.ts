import type { ReferenceChange, ReferenceItem, ReferenceKind } from '../../db/tables/service-tables.ts'
import { AnswerFormatError, HttpError, saysUnknown } from '../../exchange/errors.ts'
import type { CustomProperty, FrameworkIndex, Group, UnitType } from '../../exchange/reference-data.ts'
import type { Deps } from '../deps.ts'

/** A thing that reference data contain: a document, or something in it. */
type ReferenceItemState = {
  item: ReferenceItem
  id: string
  name: string
  /** The data point of an option or a unit. */
  within: string | null
  /** All that can differ about it, in words. */
  says: string
}

/** Everything in a document, the document first, by a key that is unique in it, in whatever case the ids are. Pure. */
export function itemsOf({ kind, id, document }: ReferenceDocument): Map<string, ReferenceItemState> {
  const items = new Map<string, ReferenceItemState>()
  const add = (state: ReferenceItemState) =>
    items.set(`${state.item} ${state.within ?? ''} ${state.id}`.toLowerCase(), state)
  const whole = (name: string, says: string) => add({ item: 'document', id, name, within: null, says })
  switch (kind) {
    case 'group': {
      const { name } = document as Group
      whole(name, quoted(name))
      break
    }
    case 'custom_property': {
      const property = document as CustomProperty
      whole(property.name, sayProperty(property))
      break
    }
    case 'unit_type': {
      const { name, units } = document as UnitType
      whole(name, quoted(name))
      for (const unit of units) {
        const says = [quoted(unit.name), unit.abbreviation ?? ''].filter(Boolean).join(', ')
        add({ item: 'unit', id: unit.id, name: unit.name, within: null, says })
      }
      break
    }
    case 'framework':
      addFramework(document as FrameworkIndex, whole, add)
      break
    default:
      kind satisfies never
  }
  return items
}

function addFramework(
  framework: FrameworkIndex,
  whole: (name: string, says: string) => void,
  add: (state: ReferenceItemState) => void,
): void {
  const titles = new Map(Object.entries(framework.titles ?? {}))
  const called = (id: string) => titles.get(id) ?? ''
  whole(framework.title, quoted(framework.title))
  for (const id of framework.questionIds) {
    add({ item: 'question', id, name: called(id), within: null, says: quoted(called(id)) })
  }
  for (const point of framework.dataPoints) {
    const words = [quoted(called(point.id)), point.valueType, point.reportingPeriodType]
    const question = point.questionId === null ? '' : `of question ${point.questionId.toLowerCase()}`
    const says = [...words, question].filter(Boolean).join(', ')
    add({ item: 'data_point', id: point.id, name: called(point.id), within: null, says })
    for (const id of point.optionIds) {
      add({ item: 'option', id, name: called(id), within: point.id, says: quoted(called(id)) })
    }
    for (const id of point.unitIds) add({ item: 'unit', id, name: '', within: point.id, says: '' })
  }
}

function sayProperty({ name, type, isIdentifier, isOwnedByInvokingCompany, ownerName }: CustomProperty): string {
  const owned = isOwnedByInvokingCompany === false ? `of ${ownerName ?? 'another profile'}` : ''
  return [quoted(name), type, isIdentifier ? 'identifier' : '', owned].filter(Boolean).join(', ')
}

function quoted(name: string): string {
  return name === '' ? '' : `"${name}"`
}

/** One document of the service's reference data. */
export type ReferenceDocument = { kind: ReferenceKind; id: string; document: object }

/** Documents by kind, as a fetch brings them. */
export type FetchedDocuments = Readonly<Record<ReferenceKind, readonly { id: string }[]>>

/**
 * What a fetch changes, document by document and item by item. Pure. Only what rows are judged by and what people
 * are shown counts: a document may change elsewhere, list things in another order, or spell ids in another case,
 * without a difference.
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
  return new Map(documents.map((document) => [documentKey(document), document]))
}

/** What is the same of one document in every fetch: the service may spell its id in capitals or not. Pure. */
export function documentKey({ kind, id }: Pick<ReferenceDocument, 'kind' | 'id'>): string {
  return `${kind} ${id.toLowerCase()}`
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

type Frameworks = Pick<Deps['exchange'], 'getFrameworks' | 'getFramework'>

/**
 * The frameworks that the service lists, without those that it then refuses in its own words: one can be withdrawn
 * between the list and its own answer, or be listed for longer than this key may read it. That counts as not listed,
 * and ends no run.
 *
 * @param leftOut is told of each that is left out.
 * @throws {HttpError} the refusal, where the service refuses every framework that it lists: it is not about one.
 */
export async function readableFrameworks(
  exchange: Frameworks,
  leftOut: (id: string, refusal: HttpError) => void,
): Promise<FrameworkIndex[]> {
  const frameworks: FrameworkIndex[] = []
  const refusals: [string, HttpError][] = []
  for (const { id } of await exchange.getFrameworks()) {
    try {
      frameworks.push(await readFramework(exchange, id))
    } catch (error) {
      if (!isWithdrawn(error)) throw error
      refusals.push([id, error])
    }
  }
  const [first] = refusals
  if (first !== undefined && frameworks.length === 0) throw first[1]
  for (const [id, refusal] of refusals) leftOut(id, refusal)
  return frameworks
}

async function readFramework(exchange: Frameworks, id: string): Promise<FrameworkIndex> {
  const framework = await exchange.getFramework(id)
  // A cache that mixes answers up must not judge rows by the wrong framework.
  if (framework.id.toLowerCase() !== id.toLowerCase()) {
    throw new AnswerFormatError(`asked for framework ${id}, answered with ${framework.id}`)
  }
  return framework
}

/** A 403 without an errorCode is that of somebody on the way, as a 404 is. */
function isWithdrawn(error: unknown): error is HttpError {
  if (saysUnknown(error)) return true
  return error instanceof HttpError && error.code === 'exchange_forbidden' && error.errorCode !== null
}
