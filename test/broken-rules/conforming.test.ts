import { expect, test } from 'vitest'
import { at, isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { conform } from '../conformance/conform.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import {
  answers,
  answerWith,
  type BrokenRule,
  broken,
  calculators,
  companies,
  endedTasks,
  everyCompanyHas,
  failsWithoutRows,
  files,
} from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'
import { everything, judgeBroken, openBroken } from './judge-broken.ts'

const service = await ofThisFile(openBroken())

const search = 'BulkGetCompanyCalculators'

/** What the specification leaves open and the sandbox does in another way: no rule is broken. */
const variants: BrokenRule[] = [
  ...(
    [
      'endpoints/framework-answers-upsert',
      'endpoints/calculators-upsert',
      'service/result-file',
      'service/result-none',
    ] as const
  ).map((statement) => broken(statement, 'a request of good and bad rows ends in Success', () => endsInSuccess())),
  broken('service/area-imports', 'holders that are nobody end in Success', () =>
    endedTasks((task) => {
      if (task.requestType === 'BulkUpsertStandardHolders') task.status = 'Success'
    }),
  ),
  ...(['endpoints/framework-answers-upsert', 'limits/answers'] as const).map((statement) =>
    broken(statement, '50,001 rows become a task that ends in Error', () => failsTooMany()),
  ),
  broken('endpoints/task', 'an unknown task is answered 400', () =>
    answers('GET /api/v2/bulk/tasks/*', (exchange) => {
      if (exchange.answer.status === 404) answerWith(exchange, 400)
    }),
  ),
  broken('endpoints/tasks', 'only the five newest tasks are listed', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      answer.json = objectsOf(answer.json).slice(0, 5)
    }),
  ),
  broken('endpoints/tasks', 'a deprecated search is not there', () =>
    answers('POST /v1/bulk/companies/search', (exchange) => answerWith(exchange, 404)),
  ),
  broken('endpoints/tasks', 'the list is refused once, for too many calls', () => {
    let calls = 0
    return answers('GET /bulk/tasks', (exchange) => {
      calls += 1
      if (calls === 1) answerWith(exchange, 429)
    })
  }),
  ...(['endpoints/framework', 'endpoints/framework-answers-upsert'] as const).map((statement) =>
    broken(statement, 'options are listed by their ids alone', () =>
      answers('GET /frameworks/*', ({ answer }) => {
        answer.json = withBareOptions(answer.json)
      }),
    ),
  ),
  broken('versioning/deprecated/consolidated-upsert', 'the hotel has a value of a property already', () =>
    everyCompanyHas(catalogue.brandPropertyId, 'Harbour'),
  ),
  broken('moves/cancel', 'cancelling what is cancelled is answered 200', () => {
    const cancelled = new Set<string>()
    return answers('POST /cancel', ({ path, answer }) => {
      if (answer.status === 200) cancelled.add(path)
      if (answer.status === 409 && cancelled.has(path)) answer.status = 200
    })
  }),
  broken('page/calculator-variables', 'a variable is listed that nothing references', () =>
    files(search, (page) => {
      if (!page.calculatorVariables) return
      const more = { id: '00000000-0000-4000-8000-00000000000a', name: 'Nothing' }
      page.calculatorVariables = [...objectsOf(page.calculatorVariables), more]
    }),
  ),
  ...(
    ['calculator/period', 'calculator/inputs', 'calculator-upsert/field-type', 'calculator-upsert/switches'] as const
  ).map((statement) =>
    broken(statement, 'a year is a text', () =>
      calculators(({ period }) => {
        if (isObject(period)) period.year = String(period.year)
      }),
    ),
  ),
  broken('calculator-upsert/switches', 'the yearly sum is written with decimals, as an output', () =>
    calculators((calculator) => {
      if (!isYearly(calculator) || at(calculator, 'period', 'year') !== 2015) return
      calculator.outputs = mapped(calculator.inputs, (value) => `${String(value)}.00`)
      delete calculator.inputs
    }),
  ),
  ...(
    [
      'service/queued',
      'service/submit',
      'service/workflow',
      'processing-rules/4',
      'page/companies',
      'endpoints/conventions',
      'endpoints/calculators-search',
      'endpoints/open-calculators-search',
      'endpoints/framework-answers-upsert',
      'endpoints/open-named-later',
      'endpoints/open-requests',
      'answers/framework',
      'versioning/per-endpoint',
      'versioning/new-request-fields',
      'versioning/keeps-endpoints',
      'versioning/keeps-optional',
    ] as const
  ).map((statement) => broken(statement, 'what is queued is answered 202', () => queuesWith202())),
  broken('versioning/deprecated/custom-identifiers', 'only identifiers of the profile are listed', () =>
    answers('GET /custom-identifiers', ({ answer }) => {
      answer.json = objectsOf(answer.json).filter(({ id }) => id !== catalogue.otherCustomIdentifierId)
    }),
  ),
  broken('task/result', 'mappings are not taken at all', () =>
    answers('POST /v1/bulk/company-mappings', (exchange) => answerWith(exchange, 503)),
  ),
  broken('processing-rules/1', 'a deprecated search is not there', () =>
    answers('POST /v1/bulk/companies/search', (exchange) => answerWith(exchange, 404)),
  ),
  broken('processing-rules/1', 'times are written without trailing zeros', () => createdWithoutZeros()),
  ...(['page/calculator-variables', 'page/values', 'calculator/outputs'] as const).map((statement) =>
    broken(statement, 'ids of variables are no UUIDs', () =>
      files(search, (page) => {
        for (const variable of objectsOf(page.calculatorVariables)) variable.id = `v${String(variable.id)}`
        for (const calculator of objectsOf(page.companies).flatMap(({ calculators }) => objectsOf(calculators))) {
          for (const name of ['inputs', 'outputs']) if (isObject(calculator[name])) renameKeys(calculator, name)
        }
      }),
    ),
  ),
]

/** What is right, and shows nothing of the statement. */
const unseen: BrokenRule[] = [
  ...(['mapping/identifier', 'endpoints/custom-properties'] as const).map((statement) =>
    broken(statement, 'the profile has no identifier yet', () =>
      answers('GET /custom-properties', ({ answer }) => {
        answer.json = objectsOf(answer.json).filter(({ isIdentifier }) => isIdentifier !== true)
      }),
    ),
  ),
  ...(['versioning/deprecated/custom-identifiers', 'page/custom-properties'] as const).map((statement) =>
    broken(statement, 'no property says whose it is, and others list those of the profile alone', () => saysNotWhose()),
  ),
  broken('service/area-imports', 'holders end in Error without a word about the row that is nobody', () =>
    failsWithoutRows('BulkUpsertStandardHolders'),
  ),
  broken('versioning/deprecated/consolidated-upsert', 'the hotel has no value, and no failed row is named', () => ({
    ...companies(search, (company) => {
      if (isObject(company.fields)) delete company.fields[catalogue.brandPropertyId]
    }),
    ...failsWithoutRows('BulkUpsertStandardHolders'),
  })),
  ...(['versioning/deprecation', 'versioning/description'] as const).map((statement) =>
    broken(statement, 'the description is elsewhere', () =>
      answers('GET /openapi.json', (exchange) => answerWith(exchange, 404)),
    ),
  ),
  broken('endpoints/framework', 'no data point is answered by a list', () =>
    answers('GET /frameworks/*', ({ answer }) => {
      answer.json = withoutLists(answer.json)
    }),
  ),
  ...(['company/calculators', 'company/fields'] as const).map((statement) =>
    broken(statement, 'a search for a type that is nowhere is refused', () => refusesUnknownTypes()),
  ),
  broken('task/kind', 'mappings are not taken at all', () =>
    answers('POST /v1/bulk/company-mappings', (exchange) => answerWith(exchange, 503)),
  ),
  broken('calculator-upsert/switches', 'the yearly calculation has not run yet', () =>
    companies(search, (company) => {
      company.calculators = objectsOf(company.calculators).filter((one) => !isYearly(one))
    }),
  ),
]

test.each(variants)('$statement holds where $rule', async (variant) => {
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'holds', isBroken: true })
})

/** An import without a row is answered 400 before anything else is looked at. */
const refusesEmptyLists = (): Hooks => ({
  instead: ({ method, path, asked }) => {
    const body = asked()
    if (method !== 'POST' || !/\/(company-mappings|upsert[a-z-]*)$/.test(path) || !isObject(body)) return null
    const isEmpty = Object.values(body).some((list) => Array.isArray(list) && list.length === 0)
    return isEmpty ? { status: 400, json: { errorCode: 'nothing_sent', message: 'Nothing was sent.' } } : null
  },
})

test.each([
  'errors/foreign-ids',
  'authentication/3',
  'endpoints/calculators-upsert',
  'versioning/deprecated/consolidated-upsert',
] as const)('%s holds where an import without a row is refused', async (statement) => {
  const variant = broken(statement, 'an import without a row is refused', refusesEmptyLists)
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'holds' })
})

test.each(unseen)('$statement is not observed where $rule', async (variant) => {
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'not observed', isBroken: true })
})

test("applications are not observed where the one key is no certifier's and may not see them", async () => {
  service.break(answers('GET /applications', (exchange) => answerWith(exchange, 403)))
  const only = ['service/areas', 'endpoints/open-applications'] as const
  const { entries } = await conform(service.url, { ...everything, certifierKey: null, only })
  expect(entries.map(({ verdict }) => verdict)).toEqual(['not observed', 'not observed'])
})

function withBareOptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBareOptions)
  if (!isObject(value)) return value
  const bare = mapped(value, withBareOptions)
  return value.options ? { ...bare, options: objectsOf(value.options).map(({ id }) => id) } : bare
}

/** Nothing but the lists themselves tells that the other profile's identifier is no property of this one. */
function saysNotWhose(): Hooks {
  return {
    answer: ({ path, answer }) => {
      const isOld = path.endsWith('/custom-identifiers')
      if (!isOld && !path.endsWith('/custom-properties')) return
      const listed = objectsOf(answer.json).filter(({ id }) => !isOld || id !== catalogue.otherCustomIdentifierId)
      answer.json = listed.map(({ isOwnedByInvokingCompany: _, ...property }) => property)
    },
  }
}

const isYearly = (calculator: Json) => at(calculator, 'period', 'month') === undefined

const mapped = (map: unknown, change: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(isObject(map) ? map : {}).map(([key, value]) => [key, change(value)]))

function renameKeys(calculator: Json, name: string): void {
  calculator[name] = Object.fromEntries(
    Object.entries(calculator[name] as Json).map(([id, value]) => [`v${id}`, value]),
  )
}

function endsInSuccess() {
  return endedTasks((task) => {
    if (task.status === 'PartialSuccess') task.status = 'Success'
  })
}

/** A document without the data points that are lists. */
function withoutLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => at(one, 'valueType') !== 'list').map(withoutLists)
  return isObject(value) ? mapped(value, withoutLists) : value
}

function refusesUnknownTypes(): Hooks {
  return answers('POST /v2/bulk/calculators/search', (exchange) => {
    const wanted = [at(exchange.asked(), 'calculatorTypeIds') ?? []].flat()
    const known = new Set<unknown>(catalogue.everyCalculatorType.map(({ id }) => id))
    if (wanted.some((type) => !known.has(type))) answerWith(exchange, 400)
  })
}

/** The specification gives a status for two of the submissions only. */
function queuesWith202(): Hooks {
  return {
    answer: ({ method, path, answer }) => {
      if (method !== 'POST' || /\/(company-mappings|calculators\/upsert)$/.test(path)) return
      if (/\/(search|upsert)$/.test(path) && answer.status === 200) answer.status = 202
    },
  }
}

/** Tasks say that they were created in the order sent, each in as few digits as its time needs. */
function createdWithoutZeros(): Hooks {
  const sent: unknown[] = []
  return {
    answer: ({ method, path, answer }) => {
      const { json } = answer
      if (!isObject(json) || !/\/search$|\/tasks\/[^/]+$/.test(path)) return
      if (method === 'POST') return void sent.push(json.correlationId)
      const nth = sent.indexOf(json.correlationId)
      if (nth < 0) return
      const fraction = ['', '.12', '.1234567'][nth % 3]
      json.createdAt = `2026-11-21T02:00:0${Math.floor(nth / 3)}${fraction}Z`
    },
  }
}

function failsTooMany(): Hooks {
  const correlationId = crypto.randomUUID()
  const failed = { correlationId, status: 'Error', requestType: 'BulkUpsertFrameworkAnswers' }
  return {
    answer: ({ path, answer }) => {
      if (path.endsWith('/framework-answers/upsert') && answer.status === 400) {
        Object.assign(answer, { status: 200, json: { correlationId } })
      }
      if (path.endsWith(`/tasks/${correlationId}`)) Object.assign(answer, { status: 200, json: failed })
    },
  }
}
