import { calculatorType, type FieldType, fieldType, type OutputVariable, output } from './calculator-types.ts'

/**
 * The calculator that a world seeded with calculators has for every company and month: large enough, with 18 inputs and
 * 12 outputs, that 100,000 companies hold some 39 million values. Partners may feed it like any other.
 */
export const resourceRecord = calculatorType('Resource record')

const field = (name: string, unit: string) => fieldType(`Resource record: ${name}`, unit, resourceRecord)

const gridElectricity = field('grid electricity', 'kWh')
const solarElectricity = field('solar electricity', 'kWh')
const heat = field('heat bought', 'kWh')
const cooling = field('cooling bought', 'kWh')
const gas = field('gas', 'kWh')
const heatingOil = field('heating oil', 'l')
const vehicleFuel = field('vehicle fuel', 'l')
const refrigerant = field('refrigerant refilled', 'kg')
const mains = field('mains water', 'm³')
const well = field('well water', 'm³')
const grey = field('grey water reused', 'm³')
const residual = field('residual waste', 'kg')
const organic = field('organic waste', 'kg')
const paper = field('paper and card', 'kg')
const glass = field('glass and metal', 'kg')
const laundry = field('laundry', 'kg')
const meals = field('meals served', 'meals')
const nights = field('occupied room nights', 'nights')

/** In the order in which the seed draws them. */
export const resourceFieldTypes: readonly FieldType[] = [
  gridElectricity,
  solarElectricity,
  heat,
  cooling,
  gas,
  heatingOil,
  vehicleFuel,
  refrigerant,
  mains,
  well,
  grey,
  residual,
  organic,
  paper,
  glass,
  laundry,
  meals,
  nights,
]

/** A factor has at most `factorScale` decimals; the seed computes with whole numbers of that scale. */
export const factorScale = 4
type Terms = [FieldType, factor: string][]

const burnt: Terms = [
  [gas, '0.1829'],
  [heatingOil, '2.5401'],
  [vehicleFuel, '2.6616'],
]
const bought: Terms = [
  [gridElectricity, '0.2071'],
  [heat, '0.1797'],
  [cooling, '0.1104'],
]
const drawn: Terms = [
  [mains, '1'],
  [well, '1'],
]
const thrownAway: Terms = [
  [residual, '1'],
  [organic, '1'],
  [paper, '1'],
  [glass, '1'],
]
const energy: Terms = [gridElectricity, solarElectricity, heat, cooling, gas].map((used) => [used, '1'])

export const resourceOutputs: readonly OutputVariable[] = [
  output(resourceRecord, 'Fuels burnt (kg CO2e)', burnt),
  output(resourceRecord, 'Refrigerants (kg CO2e)', [[refrigerant, '2088']]),
  output(resourceRecord, 'Energy bought (kg CO2e)', bought),
  output(resourceRecord, 'Fuels and energy (kg CO2e)', [...burnt, ...bought]),
  output(resourceRecord, 'Energy used (kWh)', energy),
  output(resourceRecord, 'Energy per room night (kWh)', energy, nights),
  output(resourceRecord, 'Water drawn (m³)', drawn),
  output(resourceRecord, 'Water per room night (m³)', drawn, nights),
  output(resourceRecord, 'Waste (kg)', thrownAway),
  output(resourceRecord, 'Waste sorted (kg)', thrownAway.slice(1)),
  output(resourceRecord, 'Laundry per room night (kg)', [[laundry, '1']], nights),
  output(resourceRecord, 'CO2e per meal (kg)', [...burnt, ...bought], meals),
]
