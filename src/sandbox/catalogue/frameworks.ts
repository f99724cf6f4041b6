import { uuidFrom } from '../uuid-from.ts'
import { area, energy, mass, share, type UnitType, water } from './unit-types.ts'

export type ValueType = 'text' | 'number' | 'boolean' | 'date' | 'dateRange' | 'list'
type ReportingPeriodType = 'Yearly' | 'Monthly' | 'Any'
type Option = { id: string; title: string }
/** `V`: what values there are; a world file also knows points that take any. */
export type DataPoint<V extends string = ValueType> = {
  id: string
  title: string
  valueType: V
  reportingPeriodType: ReportingPeriodType
  /** Unit types whose units an answer may carry; empty: no unit. Only numbers have any. */
  unitTypes: readonly UnitType[]
  /** Inclusive bounds of a number, whatever its unit; null: unbounded. Not published by the service. */
  min: number | null
  max: number | null
  /** The options of a list; empty for every other value type. */
  options: readonly Option[]
}
type Question<V extends string = ValueType> = { id: string; title: string; dataPoints: readonly DataPoint<V>[] }
type Cluster<V extends string = ValueType> = { id: string; title: string; questions: readonly Question<V>[] }
type Subtopic<V extends string = ValueType> = { id: string; title: string; clusters: readonly Cluster<V>[] }
type Topic<V extends string = ValueType> = { id: string; title: string; subtopics: readonly Subtopic<V>[] }
export type Framework<V extends string = ValueType> = { id: string; title: string; topics: readonly Topic<V>[] }

function simple(title: string, valueType: ValueType, reportingPeriodType: ReportingPeriodType): DataPoint {
  const id = uuidFrom(`data point ${title}`)
  return { id, title, valueType, reportingPeriodType, unitTypes: [], min: null, max: null, options: [] }
}

function number(
  title: string,
  reportingPeriodType: ReportingPeriodType,
  unitTypes: readonly UnitType[],
  min: number,
  max: number,
): DataPoint {
  return { ...simple(title, 'number', reportingPeriodType), unitTypes, min, max }
}

function list(title: string, reportingPeriodType: ReportingPeriodType, ...options: string[]): DataPoint {
  const named = options.map((option) => ({ id: uuidFrom(`option ${title}: ${option}`), title: option }))
  return { ...simple(title, 'list', reportingPeriodType), options: named }
}

function question(title: string, ...dataPoints: DataPoint[]): Question {
  return { id: uuidFrom(`question ${title}`), title, dataPoints }
}

function cluster(title: string, ...questions: Question[]): Cluster {
  return { id: uuidFrom(`cluster ${title}`), title, questions }
}

function subtopic(title: string, ...clusters: Cluster[]): Subtopic {
  return { id: uuidFrom(`subtopic ${title}`), title, clusters }
}

function topic(title: string, ...subtopics: Subtopic[]): Topic {
  return { id: uuidFrom(`topic ${title}`), title, subtopics }
}

function framework(title: string, ...topics: Topic[]): Framework {
  return { id: uuidFrom(`framework ${title}`), title, topics }
}

const energyCluster = cluster(
  'Energy use',
  question(
    'How much energy does the property use?',
    number('Electricity bought', 'Any', [energy], 0, 50_000_000),
    number('Share of renewable electricity', 'Yearly', [share], 0, 100),
  ),
  question(
    'Is there a reduction target?',
    simple('Energy reduction target set', 'boolean', 'Yearly'),
    simple('Energy target period', 'dateRange', 'Yearly'),
    number('Energy reduction aimed at', 'Yearly', [share], 0, 100),
  ),
  question(
    'Which sources of energy does the property have on site?',
    list('Energy sources on site', 'Yearly', 'Solar', 'Wind', 'Heat pump', 'Geothermal', 'None'),
  ),
)

const waterCluster = cluster(
  'Water use',
  question('How much water does the property use?', number('Water withdrawn', 'Any', [water], 0, 5_000_000)),
  question(
    'Is the water inspected?',
    simple('Date of the latest water inspection', 'date', 'Yearly'),
    simple('Remarks on water quality', 'text', 'Any'),
  ),
)

const wasteCluster = cluster(
  'Waste',
  question(
    'How much waste arises?',
    number('Waste generated', 'Monthly', [mass], 0, 2_000_000),
    number('Food waste', 'Any', [mass], 0, 1_000_000),
  ),
  question('Which waste is sorted?', list('Waste streams sorted', 'Yearly', 'Paper', 'Glass', 'Metal', 'Organic')),
)

const peopleCluster = cluster(
  'People',
  question(
    'Who works at the property?',
    number('Employees', 'Yearly', [], 0, 20_000),
    number('Share of women in management', 'Yearly', [share], 0, 100),
  ),
  question('Is there a code of conduct?', simple('Code of conduct in force', 'boolean', 'Yearly')),
  question(
    'Which training took place?',
    simple('Training described', 'text', 'Yearly'),
    simple('Date of the latest training', 'date', 'Any'),
  ),
)

const coastCluster = cluster(
  'Coast and nature',
  question(
    'How is the shore protected?',
    list('Protection of the shore', 'Yearly', 'Dune fencing', 'Reef-safe products', 'Beach cleaning', 'None'),
    simple('Beach season', 'dateRange', 'Yearly'),
  ),
  question('How much green space is there?', number('Green space', 'Yearly', [area], 0, 10_000_000)),
  question('Were protected species seen?', simple('Protected species seen', 'boolean', 'Monthly')),
)

export const frameworks: readonly Framework[] = [
  framework(
    'Responsible Hotel',
    topic('Environment', subtopic('Resources', energyCluster, waterCluster), subtopic('Materials', wasteCluster)),
    topic('Society', subtopic('Working life', peopleCluster)),
  ),
  framework('Living Coast', topic('Nature', subtopic('Shore', coastCluster))),
]

/** Every question of a framework, in the order of its tree. */
export function questionsOf<V extends string>(framework: Framework<V>): Question<V>[] {
  return framework.topics
    .flatMap((topic) => topic.subtopics)
    .flatMap((subtopic) => subtopic.clusters)
    .flatMap((cluster) => cluster.questions)
}

/** Every data point of a framework, in the order of its tree. */
export function dataPointsOf<V extends string>(framework: Framework<V>): DataPoint<V>[] {
  return questionsOf(framework).flatMap((question) => question.dataPoints)
}
