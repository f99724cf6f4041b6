import { uuidFrom } from '../uuid-from.ts'

/** What a calculator is fed: the input variable of the search pages has the id of its field type. */
export type FieldType = { id: string; name: string; unit: string; calculatorTypeIds: readonly string[] }
export type CalculatorType = { id: string; title: string }
/**
 * One output: the sum of inputs times factors (decimal text), divided by the input `perFieldTypeId` if there is one.
 */
export type OutputVariable = {
  id: string
  name: string
  calculatorTypeId: string
  terms: readonly { fieldTypeId: string; factor: string }[]
  perFieldTypeId: string | null
}

export function calculatorType(title: string): CalculatorType {
  return { id: uuidFrom(`calculator type ${title}`), title }
}

export const carbonFootprint = calculatorType('Carbon footprint')
export const waterFootprint = calculatorType('Water footprint')
export const wasteFootprint = calculatorType('Waste footprint')
export const calculatorTypes: readonly CalculatorType[] = [carbonFootprint, waterFootprint, wasteFootprint]

export function fieldType(name: string, unit: string, ...types: CalculatorType[]): FieldType {
  return { id: uuidFrom(`field type ${name}`), name, unit, calculatorTypeIds: types.map((type) => type.id) }
}

export const electricity = fieldType('Electricity', 'kWh', carbonFootprint)
export const districtHeating = fieldType('District heating', 'kWh', carbonFootprint)
export const naturalGas = fieldType('Natural gas', 'kWh', carbonFootprint)
export const diesel = fieldType('Diesel', 'l', carbonFootprint)
export const mainsWater = fieldType('Mains water', 'm³', waterFootprint)
export const rainwater = fieldType('Rainwater reused', 'm³', waterFootprint)
export const residualWaste = fieldType('Residual waste', 'kg', wasteFootprint)
export const recycledWaste = fieldType('Recycled waste', 'kg', wasteFootprint)
export const floorArea = fieldType('Floor area', 'm²', carbonFootprint)
export const roomNights = fieldType('Occupied room nights', 'nights', carbonFootprint, waterFootprint, wasteFootprint)
export const fieldTypes: readonly FieldType[] = [
  electricity,
  districtHeating,
  naturalGas,
  diesel,
  mainsWater,
  rainwater,
  residualWaste,
  recycledWaste,
  floorArea,
  roomNights,
]

export function output(
  type: CalculatorType,
  name: string,
  terms: [FieldType, factor: string][],
  per: FieldType | null = null,
): OutputVariable {
  return {
    id: uuidFrom(`output ${type.title}: ${name}`),
    name,
    calculatorTypeId: type.id,
    terms: terms.map(([field, factor]) => ({ fieldTypeId: field.id, factor })),
    perFieldTypeId: per?.id ?? null,
  }
}

// Kilograms of CO2e per unit: the order of magnitude of published factors, made up in their last digits.
const scope1: [FieldType, string][] = [
  [naturalGas, '0.18293'],
  [diesel, '2.66155'],
]
const scope2: [FieldType, string][] = [
  [electricity, '0.20705'],
  [districtHeating, '0.17965'],
]
const withdrawn: [FieldType, string][] = [
  [mainsWater, '1'],
  [rainwater, '1'],
]
const waste: [FieldType, string][] = [
  [residualWaste, '1'],
  [recycledWaste, '1'],
]

export const outputVariables: readonly OutputVariable[] = [
  output(carbonFootprint, 'Scope 1 (kg CO2e)', scope1),
  output(carbonFootprint, 'Scope 2 (kg CO2e)', scope2),
  output(carbonFootprint, 'Total (kg CO2e)', [...scope1, ...scope2]),
  output(carbonFootprint, 'CO2e per occupied room (kg)', [...scope1, ...scope2], roomNights),
  output(carbonFootprint, 'CO2e per square metre (kg)', [...scope1, ...scope2], floorArea),
  output(waterFootprint, 'Water used (m³)', withdrawn),
  output(waterFootprint, 'Water per occupied room (m³)', withdrawn, roomNights),
  output(wasteFootprint, 'Waste (kg)', waste),
  output(wasteFootprint, 'Waste (kg CO2e)', [
    [residualWaste, '0.52037'],
    [recycledWaste, '0.02128'],
  ]),
  output(wasteFootprint, 'Waste per occupied room (kg)', waste, roomNights),
]
