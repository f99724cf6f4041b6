/** What the pages are asked about: numbers and ids that the tables of the benchmark have. */
export type Asked = { hotel: string; run: number; variable: string; year: number }

/** A call that a page of the console makes. */
export type ConsoleCall = {
  page: string
  method: 'GET' | 'POST'
  /** As the description of the API writes it. */
  path: string
  /** The calls themselves, each with a query. */
  urls: (asked: Asked) => string[]
  body?: object
  /** `soon`: a page waits for it. `said`: a button says that it takes a while, and is measured without a bound. */
  answers: 'soon' | 'said' | 'not measured'
}

const states = ['rejected', 'parked', 'invalid', 'unknown']
const get = (page: string, path: string, urls: ConsoleCall['urls']): ConsoleCall => ({
  page,
  method: 'GET',
  path,
  urls,
  answers: 'soon',
})
const post = (page: string, path: string, body: object, answers: ConsoleCall['answers']): ConsoleCall => ({
  page,
  method: 'POST',
  path,
  body,
  urls: ({ run }) => [path.replace('{run}', String(run)).replace('{job}', 'nightly-sync')],
  answers,
})

/** Every call that the pages of the console make; a test compares them with the sources of the pages. */
export const consoleCalls: readonly ConsoleCall[] = [
  get('Tonight', '/v1/tonight', () => ['/v1/tonight']),
  get('Tonight', '/v1/nights', () => ['/v1/nights?limit=60', '/v1/nights?limit=100']),
  get('Tonight', '/v1/runs/{run}/live', ({ run }) => [`/v1/runs/${run}/live?limit=50`, '/v1/runs/1/live?limit=50']),
  // Two nights side by side.
  get('A night', '/v1/runs/{run}', ({ run }) => [`/v1/runs/${run}`, `/v1/runs/${run - 1}`]),
  get('A night', '/v1/runs/{run}/waves', ({ run }) => [`/v1/runs/${run}/waves`, '/v1/runs/1/waves']),
  get('A night', '/v1/runs/{run}/warnings', ({ run }) => [
    `/v1/runs/${run}/warnings?limit=200`,
    '/v1/runs/1/warnings?limit=200',
  ]),
  get('Rows', '/v1/rows', ({ hotel }) => [
    ...states.map((state) => `/v1/rows?state=${state}&limit=100`),
    `/v1/rows?state=rejected&limit=100&partnerId=${hotel}`,
    '/v1/rows?state=rejected&limit=100&reason=unit',
    '/v1/rows?state=parked&limit=100&stream=calculator_inputs',
  ]),
  get('Rows', '/v1/rows/causes', ({ hotel }) => [
    ...states.map((state) => `/v1/rows/causes?state=${state}&limit=50`),
    `/v1/rows/causes?state=rejected&limit=50&partnerId=${hotel}`,
    '/v1/rows/causes?state=rejected&limit=50&reason=unit',
  ]),
  post('Rows', '/v1/rows/retry', { all: true, dryRun: true }, 'soon'),
  post('Rows', '/v1/rows/resend', { all: true, dryRun: true }, 'said'),
  get('A hotel', '/v1/hotels/{hotel}', ({ hotel }) => [`/v1/hotels/${hotel}`]),
  get('A hotel', '/v1/hotels/{hotel}/values', ({ hotel }) => [`/v1/hotels/${hotel}/values`]),
  get('A hotel', '/v1/hotels/{hotel}/documents', ({ hotel }) => [`/v1/hotels/${hotel}/documents`]),
  get('A hotel', '/v1/changes', ({ hotel }) => [`/v1/changes?partnerId=${hotel}&limit=100`]),
  get('Values', '/v1/variables', () => ['/v1/variables?limit=500']),
  get('Values', '/v1/variables/{variable}', ({ variable, year }) => [
    `/v1/variables/${variable}?direction=input&year=${year}&limit=20`,
    `/v1/variables/${variable}?direction=output&year=${year}&month=6&limit=20`,
  ]),
  // A page asks for it by its number until it is there (bench/console.ts).
  post('Plan', '/v1/plan', { rows: 200, wait: false }, 'soon'),
  // They change something, or call the service.
  post('Plan', '/v1/jobs/{job}/runs', {}, 'not measured'),
  post('Plan', '/v1/runs/{run}/approve', { dryRun: true }, 'soon'),
  get('The service', '/v1/service', () => ['/v1/service?limit=50']),
  get('The service', '/v1/actions', () => ['/v1/actions?limit=50']),
  get('Doctor and settings', '/v1/settings', () => ['/v1/settings']),
  post('Doctor and settings', '/v1/doctor', {}, 'not measured'),
]

/** The addresses of the pages, of which the first paint is measured. */
export const consolePages = ({ hotel, run, variable }: Asked): Record<string, string> => ({
  Tonight: '',
  'A night': `night?run=${run}`,
  'Two nights': `night?run=${run}&with=${run - 1}`,
  Rows: 'rows?state=parked',
  'A hotel': `hotel?id=${hotel}`,
  Values: `values?variable=${variable}&direction=input`,
  Plan: 'plan',
  'The service': 'service',
  'Doctor and settings': 'doctor',
})
