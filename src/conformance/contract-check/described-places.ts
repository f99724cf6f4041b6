import { type BulkRequest, bulkRequests, type Contract } from '../../exchange/contract.ts'
import { describedOperation } from '../evidence/description.ts'
import { answerShapes, requestShapes, type Shape, shape } from '../names/shapes.ts'
import { at, isObject } from '../wire-json.ts'
import { bodySchemas, describedValue } from './described-schema.ts'

/** Where names of a message stand in the description. */
export type DescribedPlace = { shape: Shape; schemas: readonly unknown[]; where: string }

const answered = {
  task: 'task',
  tasks: 'task',
  unitTypes: 'unitTypes',
  groups: 'groups',
  customProperties: 'customProperties',
  frameworks: 'frameworks',
  framework: 'framework',
} as const

/** Documents that no operation answers: pages and result files lie at addresses of their own. */
const files = [
  ...(['calculatorsPage', 'companiesPage', 'standardsPage', 'standardHoldersPage', 'frameworkAnswersPage'] as const),
  ...(['companyMappingsResult', 'calculatorsResult'] as const),
]

const events = [
  shape('webhookEvent', 'id type timestamp data', {
    inside: {
      data: shape('bulkEvent', 'correlationId taskKind requestType status profileId apiKeyId'),
    },
  }),
  shape('webhookEvent', 'data', { inside: { data: shape('applicationEvent', 'applicationId status profileId') } }),
]

/** Every place of a description where names of the contract should stand. Pure. */
export function describedPlaces(document: unknown, contract: Contract): DescribedPlace[] {
  const operation = (name: keyof Contract['endpoints']) => describedOperation(document, contract.endpoints[name])
  const asked = Object.entries(requestShapes).map(([name, one]) => ({
    shape: one,
    schemas: bodySchemas(document, at(operation(name as BulkRequest), 'requestBody')),
    where: `the request of ${name}`,
  }))
  const submitted = bulkRequests.map((name) => ({
    shape: answerShapes.submitted,
    schemas: answersOf(document, operation(name), /^2/),
    where: `the answer of ${name}`,
  }))
  const read = Object.entries(answered).map(([name, kind]) => ({
    shape: answerShapes[kind],
    schemas: answersOf(document, operation(name as keyof typeof answered), /^2/),
    where: `the answer of ${name}`,
  }))
  const refused = Object.keys(contract.endpoints).map((name) => ({
    shape: answerShapes.error,
    schemas: answersOf(document, operation(name as keyof Contract['endpoints']), /^([45]|default)/i),
    where: `the errors of ${name}`,
  }))
  return [
    ...asked,
    ...submitted,
    ...read,
    ...refused,
    ...eventPlaces(document, contract),
    ...filePlaces(document, contract),
  ]
}

function answersOf(document: unknown, operation: unknown, statuses: RegExp): unknown[] {
  const responses = at(operation, 'responses')
  if (!isObject(responses)) return []
  return Object.entries(responses)
    .filter(([status]) => statuses.test(status))
    .flatMap(([, response]) => bodySchemas(document, response))
}

/** Events have no address of the service's: of each shape, the webhook that looks most like it. */
function eventPlaces(document: unknown, contract: Contract): DescribedPlace[] {
  const webhooks = at(document, 'webhooks')
  const candidates = isObject(webhooks)
    ? Object.entries(webhooks).map(
        ([name, item]) => [name, bodySchemas(document, at(item, 'post', 'requestBody'))] as const,
      )
    : []
  return events.flatMap((one) => likeliest(document, contract, one, candidates))
}

/** Of each file the shared schema that looks most like it. */
function filePlaces(document: unknown, contract: Contract): DescribedPlace[] {
  const schemas = at(document, 'components', 'schemas')
  const candidates = isObject(schemas) ? Object.entries(schemas).map(([name, schema]) => [name, [schema]] as const) : []
  return files.flatMap((name) => likeliest(document, contract, answerShapes[name], candidates))
}

/** A schema that has fewer of the names is another document. */
const leastShare = 0.5

function likeliest(
  document: unknown,
  contract: Contract,
  one: Shape,
  candidates: readonly (readonly [name: string, schemas: readonly unknown[]])[],
): DescribedPlace[] {
  const [best] = candidates
    .map(([name, schemas]) => ({ name, schemas, ...share(document, contract, one, schemas) }))
    .toSorted((a, b) => b.found - a.found)
  if (best === undefined || best.found < best.of * leastShare) return []
  return [{ shape: one, schemas: best.schemas, where: `the schema ${best.name}` }]
}

function share(
  document: unknown,
  contract: Contract,
  one: Shape,
  schemas: readonly unknown[],
): { found: number; of: number } {
  const names: Readonly<Record<string, string>> = contract.names[one.message]
  const { members } = describedValue(document, schemas)
  const own = one.fields.filter((field) => members.has(names[field] ?? '')).length
  // A document without the members of its outermost object is none of this kind, whatever lies deeper.
  if (own === 0) return { found: 0, of: one.fields.length }
  const inner = Object.entries(one.inside).map(([field, inside]) =>
    share(document, contract, inside, members.get(names[field] ?? '') ?? []),
  )
  return inner.reduce((sum, { found, of }) => ({ found: sum.found + found, of: sum.of + of }), {
    found: own,
    of: one.fields.length,
  })
}
