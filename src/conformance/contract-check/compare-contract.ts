import type { Contract } from '../../exchange/contract.ts'
import { describedOperation } from '../evidence/description.ts'
import type { ContractName } from '../names/open-names.ts'
import type { Shape } from '../names/shapes.ts'
import { at, isObject } from '../wire-json.ts'
import { type DescribedPlace, describedPlaces } from './described-places.ts'
import { describedValue } from './described-schema.ts'

/** What a description says of a name of the contract. */
export type Verdict = 'confirmed' | 'refuted' | 'not mentioned'
export type NameComparison = ContractName & { verdict: Verdict; detail: string }

type Said = { verdict: Verdict; detail: string }

/** Compares every name of a contract with an OpenAPI description. Pure. */
export function compareContract(
  names: readonly ContractName[],
  contract: Contract,
  document: unknown,
): NameComparison[] {
  const places = describedPlaces(document, contract)
  const walked = new Map<string, Said[]>()
  for (const place of places) walk(document, contract, place, place.shape, place.schemas, walked)
  const statuses = textsOf(document, places, contract.names.task.status)
  return names.map((name) => {
    const [part = '', first = '', field = ''] = name.key.split('.')
    const said = (() => {
      if (part === 'endpoints' || part === 'otherEndpoints' || field === 'endpoint')
        return endpointSaid(document, name.written)
      if (part === 'taskNames') return taskNameSaid(document, contract, places, first as keyof Contract['taskNames'])
      if (part === 'taskStatuses') return textSaid(name.written, statuses, 'the status of a task')
      if (part === 'webhookTopics') return topicSaid(document, contract, places, name.written)
      if (part === 'names' && first === 'webhookHeaders') return headerSaid(document, name.written)
      return part === 'names' ? worstOf(walked.get(`${first}.${field}`) ?? []) : silent
    })()
    return { ...name, ...said }
  })
}

const silent: Said = { verdict: 'not mentioned', detail: 'nothing in the description shows it' }

/** A name that one place has is right, whatever another leaves out. */
function worstOf(said: readonly Said[]): Said {
  return (
    said.find(({ verdict }) => verdict === 'confirmed') ?? said.find(({ verdict }) => verdict === 'refuted') ?? silent
  )
}

/** Judges the names of one place, and of those inside it. */
function walk(
  document: unknown,
  contract: Contract,
  place: DescribedPlace,
  one: Shape,
  schemas: readonly unknown[],
  into: Map<string, Said[]>,
): void {
  const names: Readonly<Record<string, string>> = contract.names[one.message]
  const { members } = describedValue(document, schemas)
  // An object of which no member is described may have any.
  if (members.size === 0) return
  const add = (field: string, said: Said) =>
    into.set(`${one.message}.${field}`, [...(into.get(`${one.message}.${field}`) ?? []), said])
  const others = [...members.keys()].filter((name) => !Object.values(names).includes(name))
  for (const field of one.fields) {
    const name = names[field] ?? ''
    if (members.has(name)) add(field, { verdict: 'confirmed', detail: `in ${place.where}` })
    else add(field, { verdict: 'refuted', detail: `not in ${place.where}${besides(others)}` })
  }
  for (const [holder, values] of Object.entries(one.values)) {
    const { texts } = describedValue(document, members.get(names[holder] ?? '') ?? [])
    for (const field of values) add(field, textSaid(names[field] ?? '', texts, place.where))
  }
  for (const [field, inner] of Object.entries(one.inside)) {
    walk(document, contract, place, inner, members.get(names[field] ?? '') ?? [], into)
  }
}

const mostNamed = 8

function besides(others: readonly string[]): string {
  if (others.length === 0) return ''
  const rest = others.length > mostNamed ? ' …' : ''
  return `, which has beside known names: ${others.slice(0, mostNamed).join(', ')}${rest}`
}

function textSaid(name: string, texts: ReadonlySet<string>, where: string): Said {
  if (texts.size === 0) return { verdict: 'not mentioned', detail: `${where} lists no values` }
  if (texts.has(name)) return { verdict: 'confirmed', detail: `among the values of ${where}` }
  return { verdict: 'refuted', detail: `${where} can be ${[...texts].slice(0, mostNamed).join(', ')}` }
}

/** The values that a member of the task may have. */
function textsOf(document: unknown, places: readonly DescribedPlace[], member: string): Set<string> {
  const tasks = places.filter(({ shape }) => shape.message === 'task').flatMap(({ schemas }) => schemas)
  const { members } = describedValue(document, tasks)
  return new Set(describedValue(document, members.get(member) ?? []).texts)
}

function endpointSaid(document: unknown, written: string): Said {
  const [method = '', path = ''] = written.split(' ')
  if (describedOperation(document, { method: method as 'GET', path }) !== undefined) {
    return { verdict: 'confirmed', detail: 'in the description' }
  }
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
    (other) => describedOperation(document, { method: other as 'GET', path }) !== undefined,
  )
  if (others.length > 0) return { verdict: 'refuted', detail: `the path answers ${others.join(', ')}` }
  const paths = Object.keys(at(document, 'paths') ?? {})
  const last = path.split('/').findLast((step) => step !== '' && !step.startsWith('{')) ?? ''
  const near = paths.filter((one) => one.split('/').includes(last)).slice(0, mostNamed)
  return {
    verdict: 'not mentioned',
    detail: near.length === 0 ? 'no such path' : `no such path; there are ${near.join(', ')}`,
  }
}

function taskNameSaid(
  document: unknown,
  contract: Contract,
  places: readonly DescribedPlace[],
  request: keyof Contract['taskNames'],
): Said {
  const { kind, requestType } = contract.taskNames[request]
  const { taskKind, requestType: typeName } = contract.names.task
  const kinds = textSaid(kind, textsOf(document, places, taskKind), 'the kind of a task')
  if (requestType === '') return kinds
  const types = textSaid(requestType, textsOf(document, places, typeName), 'the request type of a task')
  if (kinds.verdict === 'refuted') return kinds
  // The kind alone is shared by most requests, and says nothing of this one.
  return types
}

function topicSaid(document: unknown, contract: Contract, places: readonly DescribedPlace[], topic: string): Said {
  const webhooks = at(document, 'webhooks')
  if (isObject(webhooks) && Object.hasOwn(webhooks, topic))
    return { verdict: 'confirmed', detail: 'a webhook of the description' }
  const schemas = places.filter(({ shape }) => shape.message === 'webhookEvent').flatMap(({ schemas: own }) => own)
  const { members } = describedValue(document, schemas)
  const said = textSaid(
    topic,
    describedValue(document, members.get(contract.names.webhookEvent.type) ?? []).texts,
    'the type of an event',
  )
  // Further events may be described elsewhere, or not at all: only what is there is sure.
  return said.verdict === 'refuted' ? { verdict: 'not mentioned', detail: said.detail } : said
}

function headerSaid(document: unknown, name: string): Said {
  const webhooks = at(document, 'webhooks')
  const parameters = isObject(webhooks)
    ? Object.values(webhooks).flatMap((item) => (at(item, 'post', 'parameters') as unknown[] | undefined) ?? [])
    : []
  const headers = parameters.flatMap((one) =>
    isObject(one) && one.in === 'header' && typeof one.name === 'string' ? [one.name] : [],
  )
  if (headers.length === 0) return silent
  if (headers.some((one) => one.toLowerCase() === name.toLowerCase()))
    return { verdict: 'confirmed', detail: 'a header of the webhooks' }
  return { verdict: 'refuted', detail: `webhooks have the headers ${[...new Set(headers)].join(', ')}` }
}
