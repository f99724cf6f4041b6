import type { ReferenceItem, ReferenceKind } from '../../db/tables/service-tables.ts'
import type { CustomProperty, FrameworkIndex, Group, UnitType } from '../../exchange/reference-data.ts'

/** A thing that reference data contain: a document, or something in it. */
export type ReferenceItemState = {
  item: ReferenceItem
  id: string
  name: string
  /** The data point of an option or a unit. */
  within: string | null
  /** All that can differ about it, in words. */
  says: string
}

/** Everything in a document, the document first, by a key that is unique in it. Pure. */
export function itemsOf({ kind, id, document }: ReferenceDocument): Map<string, ReferenceItemState> {
  const items = new Map<string, ReferenceItemState>()
  const add = (state: ReferenceItemState) => items.set(`${state.item} ${state.within ?? ''} ${state.id}`, state)
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
    const question = point.questionId === null ? '' : `of question ${point.questionId}`
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
