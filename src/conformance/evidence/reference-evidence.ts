import type { Contract } from '../../exchange/contract.ts'
import { AnswerFormatError } from '../../exchange/errors.ts'
import { decodeFramework, type FrameworkDataPoint, type FrameworkIndex } from '../../exchange/reference-data.ts'
import type { Bench } from '../bench.ts'
import type { AnswerShape } from '../names/shapes.ts'
import type { Answer, Wire } from '../wire.ts'
import { objectsOf, textOf } from '../wire-json.ts'

/** Asks, and notes the names of the answer as those of a document of this shape, or of an error. */
export async function ask(bench: Bench, shape: AnswerShape, ...call: Parameters<Wire['call']>): Promise<Answer> {
  const answer = await bench.wire.call(...call)
  bench.note(answer.status === 200 ? shape : 'error', answer.json)
  return answer
}

/** One of the synchronous endpoints, asked once. */
const read = (endpoint: 'unitTypes' | 'groups' | 'customProperties' | 'frameworks') => (bench: Bench) =>
  bench.once(`read ${endpoint}`, () => ask(bench, endpoint, bench.contract.endpoints[endpoint]))
/** The unit types. */
export const unitTypes = read('unitTypes')
/** The groups. */
export const groups = read('groups')
/** The custom properties, as they came. */
export const customProperties = read('customProperties')
/** The list of frameworks. */
export const frameworks = read('frameworks')

/** Every framework of the list, whole, up to a few; empty where there is no list. */
export function frameworkTrees(bench: Bench): Promise<Answer[]> {
  return bench.once('framework trees', async () => {
    const list = objectsOf((await frameworks(bench)).json)
    const trees: Answer[] = []
    for (const framework of list.slice(0, 3)) {
      const id = textOf(framework[bench.contract.names.frameworks.id])
      if (id === null) continue
      trees.push(await ask(bench, 'framework', bench.contract.endpoints.framework, { id }))
    }
    return trees
  })
}

type Property = {
  id: string
  name: string | null
  type: string | null
  isIdentifier: boolean
  /** One that does not say whose it is may be the profile's, and counts as such. */
  owned: boolean
  /** Whether it says itself that it is the profile's. The specification names no field for it. */
  saysOwned: boolean
}

/** The custom properties as far as they can be read. */
export async function properties(bench: Bench): Promise<Property[]> {
  const names = bench.contract.names.customProperties
  return objectsOf((await customProperties(bench)).json).flatMap((record) => {
    const id = textOf(record[names.id])
    if (id === null) return []
    return [
      {
        id,
        name: textOf(record[names.name]),
        type: textOf(record[names.type]),
        isIdentifier: record[names.isIdentifier] === true,
        owned: record[names.isOwnedByInvokingCompany] !== false,
        saysOwned: record[names.isOwnedByInvokingCompany] === true,
      },
    ]
  })
}

export type DataPoint = {
  id: string
  valueType: string
  periodType: string
  unitIds: string[]
  optionIds: string[]
  questionId: string | null
}
/** What a framework asks for; only questions that data points answer. */
export type FrameworkTree = { id: string; questionIds: string[]; dataPoints: DataPoint[] }

/** The frameworks that can be read, as the client itself reads them. */
export async function questionTrees(bench: Bench): Promise<FrameworkTree[]> {
  return (await frameworkTrees(bench)).flatMap(({ status, json }) => {
    const framework = status === 200 ? readFramework(bench.contract, json) : null
    if (framework === null) return []
    const { id, dataPoints } = framework
    const questionIds = [...new Set(dataPoints.flatMap(({ questionId }) => questionId ?? []))]
    return [{ id, questionIds, dataPoints: dataPoints.map(dataPointOf) }]
  })
}

function readFramework(contract: Contract, json: unknown): FrameworkIndex | null {
  try {
    return decodeFramework(contract, json)
  } catch (error) {
    if (error instanceof AnswerFormatError) return null
    throw error
  }
}

function dataPointOf(point: FrameworkDataPoint): DataPoint {
  const { id, valueType, reportingPeriodType, unitIds, optionIds, questionId } = point
  return { id, valueType: valueType ?? '', periodType: reportingPeriodType ?? '', unitIds, optionIds, questionId }
}
