import type { Contract } from '../../exchange/contract.ts'
import { isObject } from '../wire-json.ts'
import type { Shape } from './shapes.ts'

/** What stood in one place of the documents that came by. */
export type Place = {
  shape: Shape
  objects: number
  /** Plain texts where an object could have stood. */
  texts: number
  keys: Map<string, number>
  values: Map<string, Set<string>>
}

type Sightings = {
  /** Takes note of a document, or of each of a list. */
  note(shape: Shape, document: unknown): void
  places(): readonly Place[]
}

/** Distinct keys or values that are kept of one place; ids as keys must not fill the memory. */
const maxKept = 60
/** Elements of one list that are looked at: names repeat from the first on. */
const maxElements = 5000

/** Collects which names stand where, for the names that the specification leaves open. */
export function createSightings(contract: Contract): Sightings {
  const places = new Map<Shape, Place>()
  const walk = (shape: Shape, value: unknown): void => {
    if (Array.isArray(value)) {
      // A list in a list is no document, and how deep lists go is up to the service.
      for (const element of value.slice(0, maxElements)) if (!Array.isArray(element)) walk(shape, element)
      return
    }
    if (!isObject(value) && typeof value !== 'string') return
    const place = places.get(shape) ?? { shape, objects: 0, texts: 0, keys: new Map(), values: new Map() }
    places.set(shape, place)
    if (typeof value === 'string') {
      place.texts += 1
      return
    }
    place.objects += 1
    for (const key of Object.keys(value)) {
      if (place.keys.has(key) || place.keys.size < maxKept) place.keys.set(key, (place.keys.get(key) ?? 0) + 1)
    }
    const names: Readonly<Record<string, string>> = contract.names[shape.message]
    for (const field of Object.keys(shape.values)) {
      const found = value[names[field] ?? '']
      const seen = place.values.get(field) ?? new Set()
      if (typeof found === 'string' && seen.size < maxKept) place.values.set(field, seen.add(found.slice(0, 80)))
    }
    for (const [field, inner] of Object.entries(shape.inside)) walk(inner, value[names[field] ?? ''])
  }
  return { note: walk, places: () => [...places.values()] }
}
