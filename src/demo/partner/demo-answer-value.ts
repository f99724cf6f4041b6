import type { catalogue } from '../../sandbox/catalogue.ts'
import { draw, drawInteger, drawOne, drawSome } from './draw.ts'
import { roomsAt, type World } from './world.ts'

type Framework = (typeof catalogue.frameworks)[number]
type Cluster = Framework['topics'][number]['subtopics'][number]['clusters'][number]
export type Question = Cluster['questions'][number]
export type DataPoint = Question['dataPoints'][number]

type AnswerValue = { value: string; unitId: string | null }

/** Amounts per room, in the first unit of the data point; over a year unless the data point is about months. */
const perRoom: Record<string, { least: number; most: number }> = {
  'Electricity bought': { least: 3_000, most: 7_200 },
  'Water withdrawn': { least: 48, most: 144 },
  'Waste generated': { least: 15, most: 45 },
  'Food waste': { least: 40, most: 160 },
  Employees: { least: 0.4, most: 1.2 },
  'Green space': { least: 5, most: 80 },
}

/** Units a thousand times the first one of their type; some hotels count in these. */
const thousandfold = ['MWh', 't']

const remarks = [
  'Legionella not found; chlorine 0.3 mg/l.',
  'Intet at bemærke – prøven er taget i køkkenet.',
  'Вода соответствует нормам, замечаний нет.',
  '水質は基準内です。',
  'El agua es potable; "sin incidencias" según el informe.',
  'Schulung „Abfall & Energie“ für alle Abteilungen\nund ein Merkblatt im Personalraum.',
  "Half a day on food waste, led by the chef's own team.",
  'تدريب الموظفين على توفير المياه والطاقة',
]

/** A plausible value of one data point for one hotel, within the data point's bounds, as the stream writes it. */
export function answerValue(world: World, hotel: number, dataPoint: DataPoint, position: number): AnswerValue {
  const { seed, lastFullYear: year } = world
  switch (dataPoint.valueType) {
    case 'number':
      return numberValue(world, hotel, dataPoint, position)
    case 'boolean':
      return { value: String(draw(seed, 'boolean', hotel, position) < 0.6), unitId: null }
    case 'text':
      return { value: drawOne(remarks, seed, 'text', hotel, position), unitId: null }
    case 'date':
      return { value: dayOf(year, drawInteger(1, 365, seed, 'date', hotel, position)), unitId: null }
    case 'dateRange': {
      const first = drawInteger(1, 180, seed, 'from', hotel, position)
      const days = drawInteger(60, 180, seed, 'days', hotel, position)
      return { value: `${dayOf(year, first)}/${dayOf(year, first + days)}`, unitId: null }
    }
    case 'list':
      return { value: JSON.stringify(optionsChosen(seed, hotel, dataPoint, position)), unitId: null }
  }
}

function numberValue({ seed }: World, hotel: number, dataPoint: DataPoint, position: number): AnswerValue {
  const chance = draw(seed, 'number', hotel, position)
  const units = dataPoint.unitTypes.flatMap((type) => type.units)
  const amount = perRoom[dataPoint.title]
  if (amount === undefined) {
    const [least, most] = [dataPoint.min ?? 0, dataPoint.max ?? 100]
    return { value: (least + (most - least) * (0.05 + 0.9 * chance)).toFixed(1), unitId: units[0]?.id ?? null }
  }
  const whole = Math.round(roomsAt(seed, hotel) * (amount.least + (amount.most - amount.least) * chance))
  const larger = units.find((unit) => thousandfold.includes(unit.abbreviation))
  return larger !== undefined && draw(seed, 'unit', hotel, position) < 0.25
    ? { value: String(whole / 1000), unitId: larger.id }
    : { value: String(whole), unitId: units[0]?.id ?? null }
}

/** One to three options; an option called None excludes the others. */
function optionsChosen(seed: number, hotel: number, { options }: DataPoint, position: number): string[] {
  const none = options.find(({ title }) => title === 'None')
  if (none !== undefined && draw(seed, 'none', hotel, position) < 0.2) return [none.id]
  const others = options.filter((option) => option !== none).map(({ id }) => id)
  return drawSome(others, drawInteger(1, 3, seed, 'options', hotel, position), seed, 'option', hotel, position)
}

function dayOf(year: number, day: number): string {
  return new Date(Date.UTC(year, 0, day)).toISOString().slice(0, 10)
}
