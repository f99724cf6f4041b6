import type { WorldHead } from '../world/world-form.ts'
import { type ApiKey, apiKeys, type CustomProperty, type Group, type Profile } from './catalogue/accounts.ts'
import type { CalculatorType, FieldType, OutputVariable } from './catalogue/calculator-types.ts'
import { type DataPoint, dataPointsOf, type Framework, questionsOf, type ValueType } from './catalogue/frameworks.ts'
import type { Standard } from './catalogue/standards.ts'
import type { UnitType } from './catalogue/unit-types.ts'
import { catalogue } from './catalogue.ts'
import { uuidFrom } from './uuid-from.ts'

/** A data point of a world: `any` takes an answer of every form. */
export type WorldPoint = DataPoint<ValueType | 'any'>
export type WorldFramework = Framework<ValueType | 'any'>

/** Everything that there is at a service beside its companies. */
type WorldContent = {
  profiles: readonly Profile[]
  apiKeys: readonly ApiKey[]
  groups: readonly Group[]
  customProperties: readonly CustomProperty[]
  unitTypes: readonly UnitType[]
  frameworks: readonly WorldFramework[]
  standards: readonly Standard[]
  calculatorTypes: readonly CalculatorType[]
  fieldTypes: readonly FieldType[]
  outputVariables: readonly OutputVariable[]
  /** Lists that may lack something: what they do not hold is taken, and not refused. */
  incomplete: readonly ('fieldTypes' | 'standards')[]
}

/** A world with what every request looks up in it. */
export type World = WorldContent & {
  dataPoints: ReadonlyMap<string, WorldPoint>
  questionIds: ReadonlySet<string>
  fieldTypesById: ReadonlyMap<string, FieldType>
  /** Names of field types and output variables, by id. */
  variableNames: ReadonlyMap<string, string>
  /** Titles of calculator types, by id. */
  typeTitles: ReadonlyMap<string, string>
  /** Every variable that a calculator of a type can have, by the type; a type is absent where nobody knows them all. */
  variablesByType: ReadonlyMap<string, readonly string[]>
}

function indexed(content: WorldContent): World {
  const { frameworks, fieldTypes, outputVariables, calculatorTypes } = content
  const variables = ({ id }: CalculatorType) => [
    ...fieldTypes.filter(({ calculatorTypeIds }) => calculatorTypeIds.includes(id)),
    ...outputVariables.filter(({ calculatorTypeId }) => calculatorTypeId === id),
  ]
  return {
    ...content,
    dataPoints: new Map(frameworks.flatMap(dataPointsOf).map((point) => [point.id, point])),
    questionIds: new Set(frameworks.flatMap(questionsOf).map(({ id }) => id)),
    fieldTypesById: new Map(fieldTypes.map((fieldType) => [fieldType.id, fieldType])),
    variableNames: new Map([...fieldTypes, ...outputVariables].map(({ id, name }) => [id, name])),
    typeTitles: new Map(calculatorTypes.map(({ id, title }) => [id, title])),
    variablesByType: new Map(calculatorTypes.map((type) => [type.id, variables(type).map(({ id }) => id)])),
  }
}

/** The sandbox's own world, which it has unless it is given another. */
export const madeUpWorld: World = indexed({
  ...catalogue,
  apiKeys,
  calculatorTypes: catalogue.everyCalculatorType,
  fieldTypes: catalogue.everyFieldType,
  outputVariables: catalogue.everyOutputVariable,
  incomplete: [],
})

/** The world that a world file describes: its calculators may have variables that the file does not declare. */
export function worldOf(head: WorldHead): World {
  const apiKeys = head.apiKeys.map((key) => ({ id: uuidFrom(`api key ${key.key}`), ...key }))
  return { ...indexed({ ...head, apiKeys }), variablesByType: new Map() }
}
