import type { CopyValue } from '../../db/copy-text.ts'
import { catalogue } from '../../sandbox/catalogue.ts'
import { answerValue, type DataPoint, type Question } from './demo-answer-value.ts'
import { draw, drawInteger, drawOne, drawSome } from './draw.ts'
import type { World } from './world.ts'

type Asked = { question: Question; frameworkId: string }
type Point = Asked & { dataPoint: DataPoint; position: number }

const asked: Asked[] = catalogue.frameworks.flatMap(({ id, topics }) =>
  topics
    .flatMap(({ subtopics }) => subtopics)
    .flatMap(({ clusters }) => clusters)
    .flatMap(({ questions }) => questions)
    .map((question) => ({ question, frameworkId: id })),
)
const points: Point[] = asked
  .flatMap((one) => one.question.dataPoints.map((dataPoint) => ({ ...one, dataPoint })))
  .map((point, position) => ({ ...point, position }))

const [everyHotel, coastal] = catalogue.frameworks.map(({ id }) => id)

/** Data points that every hotel answers, by their title: the second night finds them in any hotel. */
export const alwaysAnswered = {
  renewableShare: 'Share of renewable electricity',
  employees: 'Employees',
  womenInManagement: 'Share of women in management',
}

/** Value types that every hotel answers at least once, besides the numbers of `alwaysAnswered`. */
const otherValueTypes = ['text', 'boolean', 'date', 'dateRange', 'list'] as const

/** A data point by its title. */
export function dataPointTitled(title: string): DataPoint {
  const point = points.find(({ dataPoint }) => dataPoint.title === title)
  if (point === undefined) throw new RangeError(`The catalogue of the sandbox has no data point called ${title}`)
  return point.dataPoint
}

/** A hotel's year: most count from January, some from April and say so. */
function startMonth(seed: number, hotel: number): number | null {
  return draw(seed, 'start month', hotel) < 0.07 ? 4 : null
}

/** What one hotel answers: eight to fourteen data points, each value type among them. */
function chosenPoints(seed: number, hotel: number): Point[] {
  const byTheSea = draw(seed, 'by the sea', hotel) < 0.25
  const open = points.filter(({ frameworkId }) => frameworkId === everyHotel || (byTheSea && frameworkId === coastal))
  const chosen = open.filter(({ dataPoint }) => Object.values(alwaysAnswered).includes(dataPoint.title))
  for (const [index, valueType] of otherValueTypes.entries()) {
    const ofType = open.filter(({ dataPoint }) => dataPoint.valueType === valueType)
    chosen.push(drawOne(ofType, seed, 'of type', hotel, index))
  }
  const rest = open.filter((point) => !chosen.includes(point))
  return [...chosen, ...drawSome(rest, drawInteger(0, 6, seed, 'more', hotel), seed, 'more chosen', hotel)]
}

/** Rows of `hotelier.sustainability_answer` of one hotel. */
export function answerRows(world: World, hotel: number): CopyValue[][] {
  const { seed, lastFullYear } = world
  const namesFramework = draw(seed, 'names framework', hotel) >= 0.05
  const namesType = draw(seed, 'names type', hotel) >= 0.1
  return chosenPoints(seed, hotel).map(({ dataPoint, frameworkId, position }) => {
    const { value, unitId } = answerValue(world, hotel, dataPoint, position)
    const monthly = dataPoint.reportingPeriodType === 'Monthly'
    const valueType = dataPoint.valueType === 'dateRange' ? 'date_range' : dataPoint.valueType
    return [
      hotel,
      dataPoint.id,
      namesFramework ? frameworkId : null,
      monthly ? 'Monthly' : 'Yearly',
      lastFullYear,
      monthly ? drawInteger(1, 12, seed, 'answer month', hotel, position) : startMonth(seed, hotel),
      value,
      namesType ? valueType : null,
      unitId,
      world.stamp('answer', hotel, position),
    ]
  })
}

/** Rows of `hotelier.declined_question` of one hotel: none to two of the questions that it answers no part of. */
export function declinedRows(world: World, hotel: number): CopyValue[][] {
  const { seed, lastFullYear } = world
  const answered = new Set(chosenPoints(seed, hotel).map(({ question }) => question))
  const open = asked.filter(({ question, frameworkId }) => frameworkId === everyHotel && !answered.has(question))
  const count = drawInteger(0, 2, seed, 'declines', hotel)
  return drawSome(open, count, seed, 'declined', hotel).map(({ question }, index) => [
    hotel,
    question.id,
    'Yearly',
    lastFullYear,
    startMonth(seed, hotel),
    world.stamp('declined at', hotel, index),
  ])
}
