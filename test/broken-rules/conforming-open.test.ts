import { expect, test } from 'vitest'
import { at, isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { conform } from '../conformance/conform.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { answers, answerWith, type BrokenRule, broken, calculators, companies, files, tasks } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'
import { everything, judgeBroken, openBroken } from './judge-broken.ts'

const service = await ofThisFile(openBroken())
const search = 'BulkGetCompanyCalculators'

const each = <Statement extends BrokenRule['statement']>(
  statements: readonly Statement[],
  rule: string,
  hooks: BrokenRule['hooks'],
) => statements.map((statement) => broken(statement, rule, hooks))

/** What the specification leaves open and the sandbox does in another way: no rule is broken. */
const variants: BrokenRule[] = [
  ...each(['authentication/5'], 'an unknown key is 401 at the unit types and 403 elsewhere', () => ({
    answer: ({ path, answer }) => {
      if (answer.status === 401 && !path.endsWith('/unit-types')) answer.status = 403
    },
  })),
  ...each(['versioning/keeps-codes', 'errors/fields'], 'a call without a key is answered without a code', () => ({
    answer: ({ key, answer }) => {
      if (key === undefined && answer.status === 401) answer.json = 'Unauthorized'
    },
  })),
  ...each(
    [
      'versioning/deprecated/companies-search',
      'versioning/deprecated/standards-search',
      'versioning/deprecated/framework-answers-search',
      'versioning/deprecated/calculators-search',
      'versioning/deprecation',
    ],
    'tasks of v1 searches list no pages',
    () => oldTasksWithoutPages(),
  ),
  ...each(
    ['versioning/deprecated/companies-latest-file', 'versioning/deprecated/standards-latest-file'],
    'the latest file is one address',
    () =>
      answers('GET /latest-file', ({ answer }) => {
        answer.json = { url: [at(answer.json, 'pageUrls')].flat()[0] }
      }),
  ),
  ...each(['versioning/deprecated/status'], 'the v1 status has another layout', () =>
    answers('GET /bulk/status/*', ({ answer }) => {
      answer.json = { state: 'Done' }
    }),
  ),
  ...each(['versioning/deprecated/companies-upsert'], 'old mappings end without a file', () =>
    tasks(null, (task) => void delete task.file),
  ),
  ...each(
    [
      'service/queued',
      'versioning/keeps-optional',
      'versioning/keeps-endpoints',
      'processing-rules/2',
      'task/correlation-id',
    ],
    'a search for holders must name standards',
    () => answers('POST /v2/bulk/standards/holders/search', (exchange) => answerWith(exchange, 400)),
  ),
  ...each(
    ['service/queued', 'versioning/keeps-endpoints', 'processing-rules/2', 'task/correlation-id'],
    'the v1 companies search takes another body',
    () => answers('POST /v1/bulk/companies/search', (exchange) => answerWith(exchange, 400)),
  ),
  ...each(['service/area-searches'], 'a search that finds nothing lists no page', () =>
    tasks('BulkGetStandardHolders', (task) => {
      if (task.pageUrls) task.pageUrls = []
    }),
  ),
  ...each(
    [
      'service/queued',
      'processing-rules/1',
      'processing-rules/2',
      'moves/cancel',
      'endpoints/cancel',
      'task/correlation-id',
    ],
    'every fourth submission is one too many',
    () => refusesEvery(4, /\/bulk\//),
  ),
  ...each(['calculator-upsert/field-type', 'calculator/inputs'], 'every second calculator search is one too many', () =>
    refusesEvery(2, /\/calculators\/search$/),
  ),
  ...each(['processing-rules/1'], 'scheduled tasks begin in any order', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      const open = objectsOf(answer.json).filter(({ status }) =>
        ['Pending', 'Scheduled', 'InProgress'].includes(String(status)),
      )
      for (const [nth, task] of open.entries()) task.status = nth % 2 === 0 ? 'InProgress' : 'Scheduled'
    }),
  ),
  ...each(['versioning/description'], 'the description leaves out what is not stated', () =>
    described((paths) => {
      for (const path of Object.keys(paths)) if (/\/(cancel|frameworks)$/.test(path)) delete paths[path]
    }),
  ),
  ...each(['versioning/description'], 'the paths of the description begin at its server', () =>
    described((paths, document) => {
      document.servers = [{ url: `${service.url}/api` }]
      document.paths = renamed(paths, (path) => path.replace(/^\/api/, ''))
    }),
  ),
  ...each(['versioning/description'], 'placeholders are called otherwise', () =>
    described((paths, document) => {
      document.paths = renamed(paths, (path) => path.replace('{correlationId}', '{correlation-id}'))
    }),
  ),
  ...each(
    ['versioning/keeps-endpoints', 'authentication/5', 'errors/fields'],
    'the list of frameworks is elsewhere',
    () => frameworksElsewhere(),
  ),
  ...each(['mapping/stored'], 'the companies search shows no custom properties', () =>
    companies('BulkGetCompanies', (company) => void delete company.fields),
  ),
  ...each(
    ['service/area-mapping', 'processing-rules/4', 'limits/payload'],
    'an entry without any detail is refused',
    () => ({
      instead: ({ method, path, asked }) =>
        method === 'POST' && path.endsWith('/company-mappings') && objectsOf(at(asked(), 'companies')).some(isBare)
          ? { status: 400, json: { errorCode: 'no_detail', message: 'An entry needs a detail.' } }
          : null,
    }),
  ),
  ...each(['service/area-imports', 'endpoints/open-named-later'], 'a request with a foreign property is refused', () =>
    answers('POST /v2/bulk/companies/upsert', (exchange) => {
      if (JSON.stringify(exchange.asked()).includes('nowhere')) answerWith(exchange, 403)
    }),
  ),
  ...each(['calculator-upsert/field-type'], 'values are stored without superfluous zeros', () =>
    calculators(({ inputs }) => {
      if (isObject(inputs)) for (const [id, value] of Object.entries(inputs)) inputs[id] = String(Number(value))
    }),
  ),
  ...each(['company/fields'], 'a property without values is an empty list', () =>
    files(search, (page) => {
      const listed = objectsOf(page.customProperties).map(({ id }) => String(id))
      for (const company of objectsOf(page.companies))
        if (isObject(company.fields)) for (const id of listed) company.fields[id] ??= []
    }),
  ),
  ...each(['company/fields', 'page/custom-properties'], 'ids of properties are in capitals', () =>
    files(search, (page) => {
      for (const property of objectsOf(page.customProperties)) property.id = String(property.id).toUpperCase()
      for (const company of objectsOf(page.companies))
        if (isObject(company.fields)) company.fields = renamed(company.fields, (id) => id.toUpperCase())
    }),
  ),
  ...each(['task/correlation-id'], 'tasks write their ids in capitals', () =>
    answers('GET /api/v2/bulk/tasks/*', ({ answer }, task) => {
      if (answer.status === 200) task.correlationId = String(task.correlationId).toUpperCase()
    }),
  ),
  ...each(['endpoints/tasks', 'processing-rules/1'], 'the list writes ids in capitals', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      for (const task of objectsOf(answer.json)) task.correlationId = String(task.correlationId).toUpperCase()
    }),
  ),
]

const answersStatements = [
  'answers/framework',
  'answers/entry',
  'answers/periods',
  'answers/yearly',
  'answers/monthly',
  'answers/both',
  'answers/typed',
  'answers/omission',
] as const

/** What is right, and shows nothing of the statement. */
const unseen: BrokenRule[] = [
  ...each(answersStatements, 'periods are spelt otherwise on the page', () =>
    companies('BulkGetFrameworkAnswers', (company) => {
      company.reportingPeriods = company.periods
      delete company.periods
    }),
  ),
  ...each(answersStatements, 'no page of answers comes', () =>
    answers('POST /v2/bulk/framework-answers/search', (exchange) => answerWith(exchange, 503)),
  ),
  ...each(
    ['answers/omission', 'answers/both', 'answers/yearly', 'answers/entry', 'answers/periods'],
    'the page shows no omissions',
    () =>
      companies('BulkGetFrameworkAnswers', (company) => {
        for (const period of objectsOf(company.periods)) delete period.omissions
        company.periods = objectsOf(company.periods).filter(({ answers: given }) => given)
      }),
  ),
  ...each(['answers/framework'], 'the page shows no frameworks', () =>
    companies('BulkGetFrameworkAnswers', (company) => {
      for (const period of objectsOf(company.periods)) delete period.frameworkIds
    }),
  ),
  ...each(
    [
      'versioning/deprecated/companies-upsert',
      'versioning/deprecated/performance-answers-upsert',
      'versioning/deprecated/consolidated-upsert',
    ],
    'deprecated upserts take another body',
    () => ({
      answer: (exchange) => {
        const isOld = /\/v1\/bulk\/(companies|performance-answers)\/upsert$|upsert-standard-holders$/
        if (isOld.test(exchange.path)) answerWith(exchange, 400)
      },
    }),
  ),
  ...each(
    ['versioning/per-endpoint', 'versioning/deprecated/companies-search'],
    'the v1 companies search takes another body',
    () => answers('POST /v1/bulk/companies/search', (exchange) => answerWith(exchange, 400)),
  ),
  ...each(['service/area-searches'], 'a search for holders must name standards', () =>
    answers('POST /v2/bulk/standards/holders/search', (exchange) => answerWith(exchange, 400)),
  ),
  ...each(['moves/cancel', 'endpoints/cancel'], 'cancelling is always one too many', () =>
    refusesEvery(1, /\/cancel$/),
  ),
  ...each(['service/immediate', 'service/area-lookups'], 'the list of frameworks is elsewhere', () =>
    frameworksElsewhere(),
  ),
  ...each(['mapping/stored', 'processing-rules/6', 'errors/items'], 'the file of a mapping lists what was mapped', () =>
    files(null, (file) => {
      file.companies = objectsOf(file.companies).filter(({ status }) => status === 'Mapped')
    }),
  ),
]

test.each(variants)('$statement holds where $rule', async (variant) => {
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'holds' })
})

test.each(unseen)('$statement is not observed where $rule', async (variant) => {
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'not observed', isBroken: true })
})

const otherId = (id: string) => `f${id.slice(1)}`

/** Variables of the pages have ids of their own, which are not those of field types. */
const ownVariables = () =>
  files(search, (page) => {
    for (const variable of objectsOf(page.calculatorVariables)) variable.id = otherId(String(variable.id))
    for (const calculator of objectsOf(page.companies).flatMap((company) => objectsOf(company.calculators)))
      for (const side of ['inputs', 'outputs'])
        if (isObject(calculator[side])) calculator[side] = renamed(calculator[side], otherId)
  })

test('no statement differs where variables have other ids than field types, with a field type named or without', async () => {
  const only = [
    'calculator/inputs',
    'calculator-upsert/field-type',
    'calculator-upsert/switches',
    'endpoints/calculators-upsert',
    'service/area-imports',
    'service/result-file',
  ] as const
  for (const fieldTypeId of [catalogue.everyFieldType[0]?.id ?? '', null]) {
    service.break(ownVariables())
    const writing = { ...everything.writing, year: fieldTypeId === null ? 1990 : 1991, fieldTypeId }
    const { entries } = await conform(service.url, { ...everything, writing, only })
    expect(entries.filter(({ verdict }) => verdict === 'differs')).toEqual([])
  }
})

test('no name differs where the description shows no members of a body, or no company has an address', async () => {
  service.break({
    ...described((paths) => {
      const anything = { content: { 'application/json': { schema: { type: 'object' } } } }
      for (const { post } of Object.values(paths) as Json[])
        if (isObject(post) && post.requestBody) post.requestBody = anything
    }),
    ...companies('BulkGetCompanies', (company) => {
      for (const name of ['street', 'coordinates', 'countryCode']) delete company[name]
    }),
  })
  const only = ['mapping/stored', 'endpoints/open-named-later', 'versioning/description'] as const
  const { names } = await conform(service.url, { ...everything, only })
  expect(names.filter(({ verdict }) => verdict === 'differs').map(({ key, seen }) => [key, seen])).toEqual([])
})

function renamed(map: Json, rename: (key: string) => string): Json {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [rename(key), value]))
}

function isBare(entry: Json): boolean {
  return Object.keys(entry).length === 1
}

function described(change: (paths: Json, document: Json) => void): Hooks {
  return answers('GET /openapi.json', (_exchange, document) => {
    if (isObject(document.paths)) change(document.paths, document)
  })
}

function frameworksElsewhere(): Hooks {
  return answers('GET /frameworks', (exchange) => {
    Object.assign(exchange.answer, { status: 404, json: 'Not found' })
  })
}

function oldTasksWithoutPages(): Hooks {
  const old = new Set<unknown>()
  return {
    answer: ({ method, path, answer }) => {
      const { json } = answer
      if (!isObject(json)) return
      if (method === 'POST' && /\/v1\/bulk\/.*search$/.test(path)) old.add(json.correlationId)
      if (/\/v2\/bulk\/tasks\//.test(path) && old.has(json.correlationId)) delete json.pageUrls
    },
  }
}

/** Of the submissions to such a path every nth is one too many. */
function refusesEvery(nth: number, pattern: RegExp): Hooks {
  let calls = 0
  return {
    instead: ({ method, path }) => {
      if (method !== 'POST' || !pattern.test(path)) return null
      calls += 1
      return calls % nth === 0 ? { status: 429, json: { errorCode: 'slow_down', message: 'Too many.' } } : null
    },
  }
}
