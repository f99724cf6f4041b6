import { expect, test } from 'vitest'
import { judgeNames, type NameEvidence } from '../../src/conformance/names/judge-names.ts'
import { answerShapes, requestShapes, type Shape } from '../../src/conformance/names/shapes.ts'
import { contract, openNames } from './conform.ts'

/** A shape and all that stand inside it. */
function within(shape: Shape): Shape[] {
  return [shape, ...Object.values(shape.inside).flatMap(within)]
}

const shapes = [...Object.values(answerShapes), ...Object.values(requestShapes)].flatMap((shape) => within(shape))
const keysIn = (shape: Shape) => [...shape.fields, ...Object.keys(shape.inside), ...Object.values(shape.values).flat()]

test('every field of a shape is one of the contract', () => {
  const strange = shapes.flatMap((shape) =>
    keysIn(shape)
      .filter((field) => !(field in contract.names[shape.message]))
      .map((field) => `${shape.message}.${field}`),
  )
  expect(strange).toEqual([])
})

test('every open name of a message has a place in which it is looked for', () => {
  const places = new Set(shapes.flatMap((shape) => keysIn(shape).map((field) => `names.${shape.message}.${field}`)))
  expect(openNames.map(({ key }) => key).filter((key) => key.startsWith('names.') && !places.has(key))).toEqual([])
})

test('every entry of the contract that is not stated is an open name', () => {
  expect(
    openNames
      .filter(({ source }) => source === 'assumed')
      .map(({ key }) => key)
      .toSorted(),
  ).toEqual(contract.assumed.toSorted())
  expect(openNames.filter(({ source }) => source === 'public').length).toBeGreaterThan(50)
})

test('the endpoint of a kind that a contract adds is looked for in the description, without being called', () => {
  const name = (path: string) => ({ key: 'kinds.things.endpoint', written: `POST ${path}`, source: 'assumed' as const })
  const evidence: NameEvidence = {
    contract,
    answered: [],
    accepted: [],
    taskNames: new Map(),
    statusesOf: new Map(),
    description: { paths: { '/things': { post: {} } } },
  }
  expect(judgeNames([name('/things'), name('/others')], evidence)).toMatchObject([
    { verdict: 'holds' },
    { verdict: 'not observed', seen: 'not called' },
  ])
})
