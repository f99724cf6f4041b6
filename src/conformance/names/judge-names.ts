import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import type { TaskNames } from '../bench.ts'
import { describedOperation, describedRequestNames } from '../evidence/description.ts'
import { differs, holds, judged, notObserved, type Observation } from '../observation.ts'
import { isNowhere, isObject } from '../wire-json.ts'
import type { OpenName } from './open-names.ts'
import { requestShapes } from './shapes.ts'
import type { Place } from './sightings.ts'

/** Everything that a run has seen of names. */
export type NameEvidence = {
  contract: Contract
  /** Documents that the service sent, and bodies that it accepted. */
  answered: readonly Place[]
  accepted: readonly Place[]
  taskNames: ReadonlyMap<string, TaskNames>
  statusesOf: ReadonlyMap<string, ReadonlySet<number>>
  /** The OpenAPI description; undefined where there was none. */
  description: unknown
}

export type NameResult = OpenName & Observation

/** What was seen of each name that the specification leaves open. Pure. */
export function judgeNames(names: readonly OpenName[], evidence: NameEvidence): NameResult[] {
  return names.map((name) => ({ ...name, ...judgeName(name, evidence) }))
}

function judgeName({ key, written }: OpenName, evidence: NameEvidence): Observation {
  const [kind = '', first = '', field = ''] = key.split('.')
  if (kind === 'endpoints' || kind === 'otherEndpoints') return judgeEndpoint(written, evidence)
  if (kind === 'taskNames') return judgeTaskName(first as BulkRequest, evidence)
  if (kind === 'kinds' && field === 'endpoint') return judgeEndpoint(written, evidence)
  if (kind !== 'names') return notObserved('nothing shows it')
  const asked = Object.entries(requestShapes).find(([, shape]) => shape.message === first)
  if (asked !== undefined) return judgeRequestName(asked[0] as BulkRequest, field, evidence)
  return judgeAnswerName(first, field, evidence)
}

function judgeEndpoint(written: string, { statusesOf, description }: NameEvidence): Observation {
  const statuses = [...(statusesOf.get(written) ?? [])]
  const [method = '', path = ''] = written.split(' ')
  const described = describedOperation(description, { method: method as 'GET', path }) !== undefined
  if (statuses.some((status) => !isNowhere(status))) return holds(`answered ${statuses.join(', ')}`)
  if (described) return holds('in the description')
  return statuses.length === 0 ? notObserved('not called') : differs(`answered ${statuses.join(', ')}`)
}

function judgeTaskName(request: BulkRequest, { contract, taskNames }: NameEvidence): Observation {
  const seen = taskNames.get(request)
  if (seen === undefined) return notObserved('no such task ended')
  const expected = contract.taskNames[request]
  const same = seen.kind === expected.kind && (seen.requestType ?? '') === expected.requestType
  return judged(same, `${seen.kind ?? 'no kind'}, ${seen.requestType ?? 'no request type'}`)
}

function judgeRequestName(request: BulkRequest, field: string, evidence: NameEvidence): Observation {
  const { contract, accepted, description } = evidence
  const shape = requestShapes[request]
  if (shape === undefined) return notObserved('not sent')
  const names: Readonly<Record<string, string>> = contract.names[shape.message]
  const name = names[field] ?? ''
  const sent = accepted.some((place) => place.shape.message === shape.message && place.keys.has(name))
  const endpoint = contract.endpoints[request]
  if (isObject(describedOperation(description, endpoint))) {
    const described = describedRequestNames(description, endpoint)
    if (described.has(name)) return holds(sent ? 'in the description; sent, and accepted' : 'in the description')
    const others = [...described].filter((one) => !Object.values(names).includes(one))
    // A body of any form is described, too: then the description names nothing, and denies nothing.
    if (described.size > 0) return differs(`not in the description, which has ${others.join(', ') || 'no other names'}`)
    if (!sent) return notObserved('not sent, and the description shows no names of the body')
  }
  return sent ? holds('sent, and accepted') : notObserved('not sent, and there is no description')
}

function judgeAnswerName(message: string, field: string, { contract, answered }: NameEvidence): Observation {
  const places = answered.filter(({ shape }) => shape.message === message)
  const names: Readonly<Record<string, string>> = contract.names[message as keyof Contract['names']]
  const name = names[field] ?? ''
  for (const place of places) {
    for (const [holder, values] of Object.entries(place.shape.values)) {
      if (values.includes(field)) return judgeValue(name, place.values.get(holder) ?? new Set(), Object.values(names))
    }
  }
  const where = places.filter(({ shape }) => shape.fields.includes(field))
  const objects = where.reduce((sum, place) => sum + place.objects, 0)
  const texts = where.reduce((sum, place) => sum + place.texts, 0)
  if (objects === 0 && texts > 0) return holds('not needed: the text itself stands in its place')
  if (objects === 0) return notObserved('no document that could hold it came by')
  const count = where.reduce((sum, place) => sum + (place.keys.get(name) ?? 0), 0)
  if (count > 0) return holds(`as written, ${count} times`)
  const unknown = [...new Set(where.flatMap((place) => unknownKeys(place, names)))]
  const alike = unknown.filter((key) => areAlike(key, name))
  if (alike.length > 0) return differs(`absent; in its place, as it seems: ${alike.join(', ')}`)
  const hint = unknown.length === 0 ? '' : `; names there that the contract does not have: ${unknown.join(', ')}`
  const absent = `absent from all ${objects} that came by${hint}`
  return where.some(({ shape }) => !shape.optional.includes(field)) ? differs(absent) : notObserved(absent)
}

/** Whether two names have a word in common, as `pages` and `pageUrls` have. */
function areAlike(one: string, other: string): boolean {
  const words = wordsOf(one)
  return wordsOf(other).some((word) => words.includes(word))
}

function wordsOf(name: string): string[] {
  return name
    .split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/)
    .map((word) => word.toLowerCase().replace(/s$/, ''))
    .filter((word) => word.length >= 4)
}

function judgeValue(name: string, seen: ReadonlySet<string>, known: readonly string[]): Observation {
  if (seen.has(name)) return holds('as written')
  const others = [...seen].filter((value) => !known.includes(value))
  return others.length === 0
    ? notObserved('no value like it came by')
    : differs(`not seen; in its place: ${others.join(', ')}`)
}

/** Keys of a place that the contract does not know there. */
function unknownKeys({ keys, shape }: Place, names: Readonly<Record<string, string>>): string[] {
  const known = new Set(shape.fields.map((field) => names[field]))
  return [...keys.keys()].filter((key) => !known.has(key))
}
