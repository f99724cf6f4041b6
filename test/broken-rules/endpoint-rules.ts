import { at, objectsOf } from '../../src/conformance/wire-json.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { answers, answerWith, type BrokenRule, broken, endless, ends, files, tasks } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'

const calculatorsType = 'BulkGetCompanyCalculators'
const answersType = 'BulkUpsertFrameworkAnswers'

/** Rules of endpoints, keys, errors, limits, versions, and of what a mapping does. */
export const endpointRules = (): BrokenRule[] => [
  broken('endpoints/conventions', 'a JSON body is not taken', () =>
    answers('POST /v2/bulk/standards/search', (exchange) => answerWith(exchange, 415)),
  ),
  broken('endpoints/company-mappings', 'the file of a mapping is a list of nothing', () => ({
    file: (file) => {
      if (file.kind === 'CompanyMappingRequest') file.json = []
    },
  })),
  broken('endpoints/company-mappings', 'a mapping is answered 202', () =>
    answers('POST /bulk/company-mappings', ({ answer }) => {
      if (answer.status === 200) answer.status = 202
    }),
  ),
  broken('endpoints/framework-answers-upsert', '50,001 rows are taken', () => takesTooMany()),
  broken('endpoints/calculators-upsert', 'the file of calculators leaves the failed company out', () =>
    files('BulkUpsertCompanyCalculators', (file) => {
      file.companies = objectsOf(file.companies).filter(({ status }) => status === 'Success')
    }),
  ),
  broken('endpoints/calculators-upsert', 'calculators are answered 202', () =>
    answers('POST /bulk/calculators/upsert', ({ answer }) => {
      if (answer.status === 200) answer.status = 202
    }),
  ),
  broken('endpoints/calculators-search', 'the calculator search ends in Error', () =>
    tasks(calculatorsType, (task) => {
      if (task.status === 'Success') task.status = 'Error'
    }),
  ),
  broken('endpoints/task', 'an unknown task is a task', () =>
    answers('GET /api/v2/bulk/tasks/*', ({ answer }) => {
      if (answer.status === 404) Object.assign(answer, { status: 200, json: { status: 'Success' } })
    }),
  ),
  broken('endpoints/tasks', 'the list leaves a task out', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      answer.json = objectsOf(answer.json).filter(({ requestType }) => requestType !== 'BulkGetStandardHolders')
    }),
  ),
  broken('endpoints/tasks', 'the list has older tasks, and not the newest', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      answer.json = objectsOf(answer.json).slice(1)
    }),
  ),
  broken('endpoints/tasks', 'tasks that have ended are not listed', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      answer.json = objectsOf(answer.json).filter(({ status }) => !ends.includes(String(status)))
    }),
  ),
  broken('endpoints/open-tasks', 'the list of tasks is an object', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      answer.json = { tasks: answer.json }
    }),
  ),
  broken('endpoints/unit-types', 'the unit types are an object', () =>
    answers('GET /unit-types', ({ answer }) => {
      if (answer.status === 200) answer.json = { unitTypes: answer.json }
    }),
  ),
  broken('endpoints/framework', 'a framework has no options', () =>
    answers('GET /frameworks/*', ({ answer }) => {
      answer.json = JSON.parse(JSON.stringify(answer.json).replaceAll('"options":', '"choices":')) as unknown
    }),
  ),
  broken('endpoints/groups', 'the groups are an object', () =>
    answers('GET /groups', ({ answer }) => {
      if (answer.status === 200) answer.json = { groups: answer.json }
    }),
  ),
  broken('endpoints/custom-properties', 'the custom properties are an object', () =>
    answers('GET /custom-properties', ({ answer }) => {
      if (answer.status === 200) answer.json = { customProperties: answer.json }
    }),
  ),
  broken('endpoints/custom-properties', 'one property does not say whether it is an identifier', () =>
    answers('GET /custom-properties', ({ answer }) => {
      const last = objectsOf(answer.json).at(-1)
      if (last) delete last.isIdentifier
    }),
  ),
  broken('endpoints/open-frameworks', 'there is no list of frameworks', () =>
    answers('GET /frameworks', (exchange) => answerWith(exchange, 404)),
  ),
  broken('endpoints/open-named-later', 'the upsert of companies is refused', () =>
    answers('POST /v2/bulk/companies/upsert', (exchange) => answerWith(exchange, 400)),
  ),
  broken('endpoints/open-submitted', 'the correlation id has another name', () =>
    answers('POST /v2/bulk/calculators/search', ({ answer }) => {
      answer.json = { id: at(answer.json, 'correlationId') }
    }),
  ),
  broken('endpoints/open-requests', 'the body of a mapping is not taken', () =>
    answers('POST /bulk/company-mappings', (exchange) => answerWith(exchange, 400)),
  ),
  broken('endpoints/deprecated', 'a deprecated endpoint is gone', () =>
    answers('GET /bulk/status/*', (exchange) => answerWith(exchange, 410)),
  ),

  broken('authentication/3', 'a foreign group is taken', () =>
    answers('POST /calculators/upsert', ({ asked, answer }) => {
      if (answer.status === 403 && hasForeignGroup(asked()))
        Object.assign(answer, { status: 200, json: { correlationId: crypto.randomUUID() } })
    }),
  ),
  broken('authentication/5', 'an unknown key may read the groups', () => ({
    answer: ({ path, answer }) => {
      if (path.endsWith('/groups') && answer.status === 401) Object.assign(answer, { status: 200, json: [] })
    },
  })),
  broken('authentication/8', 'an unknown key is answered 403', () => ({
    answer: ({ key, answer }) => {
      if (key !== undefined && answer.status === 401) answer.status = 403
    },
  })),
  broken('authentication/8', 'a missing key is answered 403', () => ({
    answer: ({ key, answer }) => {
      if (key === undefined && answer.status === 401) answer.status = 403
    },
  })),

  broken('errors/missing-ids', 'a calculator upsert without a group is answered 422', () =>
    answers('POST /calculators/upsert', ({ asked, answer }) => {
      if (answer.status === 400 && at(asked(), 'groupId') === undefined) answer.status = 422
    }),
  ),
  broken('errors/missing-ids', 'a calculator upsert without an identifier is answered 422', () =>
    answers('POST /calculators/upsert', ({ asked, answer }) => {
      if (answer.status === 400 && at(asked(), 'customIdentifierId') === undefined) answer.status = 422
    }),
  ),
  broken('errors/missing-ids', 'the 400 of a calculator upsert without an identifier has no message', () =>
    answers('POST /calculators/upsert', ({ asked, answer }, body) => {
      if (answer.status === 400 && at(asked(), 'customIdentifierId') === undefined) delete body.message
    }),
  ),
  broken('errors/foreign-ids', 'a calculator upsert with a foreign group is answered 404', () =>
    answers('POST /calculators/upsert', ({ asked, answer }) => {
      if (answer.status === 403 && hasForeignGroup(asked())) answer.status = 404
    }),
  ),
  broken('errors/foreign-ids', 'a calculator upsert with a foreign identifier is answered 404', () =>
    answers('POST /calculators/upsert', ({ asked, answer }) => {
      if (answer.status === 403 && !hasForeignGroup(asked())) answer.status = 404
    }),
  ),
  broken('errors/foreign-ids', 'the 403 for a foreign identifier has no errorCode', () => noCodeOnForbidden()),
  broken('errors/fields', 'the 403 for a foreign identifier has no errorCode', () => noCodeOnForbidden()),
  broken('errors/fields', 'error answers have no message', () => ({
    answer: ({ answer }) => {
      if (answer.status === 404 && answer.json) delete (answer.json as Json).message
    },
  })),
  broken('errors/items', 'the file of a mapping says that what matches nothing is mapped', () =>
    files(null, (file) => {
      for (const company of objectsOf(file.companies)) company.status = 'Mapped'
    }),
  ),
  broken('errors/items', 'rows that fail are told nowhere', () => tasks(answersType, (task) => void delete task.error)),
  broken('errors/rows', 'one of the failed rows is not listed', () =>
    tasks(answersType, (task) => {
      objectsOf(at(task, 'error', 'rowErrors'))
      const error = at(task, 'error') as Json | undefined
      if (error) error.rowErrors = objectsOf(error.rowErrors).slice(1)
    }),
  ),
  broken('errors/stable', 'one fault has another errorCode each time', () => {
    let nth = 0
    return {
      answer: ({ answer }) => {
        nth += 1
        if (answer.status === 404 && answer.json) (answer.json as Json).errorCode = `code_${nth}`
      },
    }
  }),
  broken('limits/answers', '50,001 rows are taken', () => takesTooMany()),
  broken('limits/answers', 'answers and omissions are counted apart', () => takesTooMany(isFewOfEach)),
  broken('limits/answers', 'more than 10,000 rows are refused', () => ({
    instead: ({ method, path, asked }) =>
      method === 'POST' && path.endsWith('/framework-answers/upsert') && JSON.stringify(asked()).length > 500_000
        ? { status: 400, json: { errorCode: 'too_many', message: 'These are more than 10,000.' } }
        : null,
  })),
  endless('limits/payload', 'a request of 30,000 entries never ends', () => {
    let large = ''
    return {
      answer: ({ path, asked, answer }) => {
        const id = at(answer.json, 'correlationId')
        if (path.endsWith('/company-mappings') && objectsOf(at(asked(), 'companies')).length > 1000) large = String(id)
        if (large !== '' && path.endsWith(`/tasks/${large}`)) (answer.json as Json).status = 'InProgress'
      },
    }
  }),

  broken('versioning/path', 'a header chooses the version', () => ({
    answer: ({ headers, answer }) => {
      if (headers['api-version'] !== undefined) answer.json = []
    },
  })),
  broken('versioning/per-endpoint', 'the companies search is not there under v1', () =>
    answers('POST /v1/bulk/companies/search', (exchange) => answerWith(exchange, 404)),
  ),
  broken('versioning/new-request-fields', 'a new request field is required', () =>
    answers('POST /v2/bulk/calculators/search', (exchange) => {
      if (at(exchange.asked(), 'customPropertyIds') === undefined) answerWith(exchange, 400)
    }),
  ),
  broken('versioning/keeps-endpoints', 'the list of tasks is gone', () =>
    answers('GET /bulk/tasks', (exchange) => answerWith(exchange, 404)),
  ),
  broken('versioning/keeps-fields', 'a task no longer says its request type', () =>
    tasks(calculatorsType, (task) => {
      delete task.requestType
    }),
  ),
  broken('versioning/keeps-fields', 'the page addresses of a task are one text', () =>
    tasks(calculatorsType, (task) => {
      if (Array.isArray(task.pageUrls)) task.pageUrls = String(task.pageUrls[0])
    }),
  ),
  broken('versioning/keeps-optional', 'an optional request field became required', () =>
    answers('POST /framework-answers/upsert', (exchange) => {
      if (at(exchange.asked(), 'frameworkId') === undefined) answerWith(exchange, 400)
    }),
  ),
  broken('versioning/keeps-codes', 'an errorCode is another one the next time', () => {
    let nth = 0
    return {
      answer: ({ path, answer }) => {
        nth += 1
        if (path.endsWith('/calculators/upsert') && answer.status === 400)
          (answer.json as Json).errorCode = `code_${nth}`
      },
    }
  }),
  broken('versioning/deprecation', 'a deprecated endpoint is documented, as deprecated', () =>
    answers('GET /openapi.json', ({ answer }) => {
      const paths = at(answer.json, 'paths') as Json
      paths['/api/v1/bulk/calculators/search'] = { post: { deprecated: true } }
    }),
  ),
  ...(
    [
      ['companies-search', 'POST /v1/bulk/companies/search'],
      ['companies-latest-file', 'GET /v1/bulk/companies/search/latest-file'],
      ['standards-search', 'POST /v1/bulk/standards/search'],
      ['standards-latest-file', 'GET /v1/bulk/standards/search/latest-file'],
      ['framework-answers-search', 'POST /v1/bulk/framework-answers/search'],
      ['calculators-search', 'POST /v1/bulk/calculators/search'],
      ['performance-answers-upsert', 'POST /v1/bulk/performance-answers/upsert'],
      ['consolidated-upsert', 'POST /v1/bulk/consolidated/upsert-standard-holders'],
      ['companies-upsert', 'POST /v1/bulk/companies/upsert'],
      ['status', 'GET /v1/bulk/status/*'],
      ['custom-identifiers', 'GET /v1/custom-properties/custom-identifiers'],
    ] as const
  ).map(([name, call]) =>
    broken(`versioning/deprecated/${name}`, `${call} is gone`, () =>
      answers(call, (exchange) => answerWith(exchange, 410)),
    ),
  ),
  ...(['companies', 'standards'] as const).map((kind) =>
    broken(`versioning/deprecated/${kind}-latest-file`, `the latest file of ${kind} is answered 500`, () =>
      answers(`GET /v1/bulk/${kind}/search/latest-file`, (exchange) => answerWith(exchange, 500)),
    ),
  ),
  broken('versioning/deprecated/custom-identifiers', 'an identifier of the profile is not listed', () =>
    answers('GET /custom-identifiers', ({ answer }) => {
      answer.json = objectsOf(answer.json).filter(({ isOwnedByInvokingCompany }) => isOwnedByInvokingCompany !== true)
    }),
  ),
  broken('versioning/deprecated/custom-identifiers', 'the identifiers are no list, and none is of the profile', () => ({
    answer: ({ path, answer }) => {
      if (path.endsWith('/custom-identifiers')) answer.json = {}
      if (path.endsWith('/custom-properties')) {
        for (const property of objectsOf(answer.json)) property.isOwnedByInvokingCompany = false
      }
    },
  })),
  endless('versioning/deprecated/consolidated-upsert', 'the task of a consolidated upsert never ends', () =>
    tasks('BulkUpsertStandardHolders', (task) => {
      task.status = 'InProgress'
    }),
  ),
  broken('versioning/description', 'the description leaves the task endpoint out', () =>
    answers('GET /openapi.json', ({ answer }) => {
      const paths = at(answer.json, 'paths') as Json
      delete paths['/api/v2/bulk/tasks/{correlationId}']
    }),
  ),
  broken('reference/records', 'isIdentifier is a text', () =>
    answers('GET /custom-properties', ({ answer }) => {
      for (const property of objectsOf(answer.json)) property.isIdentifier = String(property.isIdentifier)
    }),
  ),
]

/** Whether the answers of a body are no more than 50,000, and neither are its omissions. */
function isFewOfEach(body: unknown): boolean {
  const periods = objectsOf(at(body, 'companies')).flatMap((company) => objectsOf(company.periods))
  return (['answers', 'omissions'] as const).every(
    (list) => periods.reduce((sum, period) => sum + objectsOf(period[list]).length, 0) <= 50_000,
  )
}

function takesTooMany(taken: (body: unknown) => boolean = () => true): Hooks {
  const correlationId = crypto.randomUUID()
  return {
    answer: ({ path, asked, answer }) => {
      if (path.endsWith('/framework-answers/upsert') && answer.status === 400 && taken(asked())) {
        Object.assign(answer, { status: 200, json: { correlationId } })
      }
      if (path.endsWith(`/tasks/${correlationId}`)) {
        Object.assign(answer, { status: 200, json: { correlationId, status: 'Success', requestType: answersType } })
      }
    },
  }
}

const hasForeignGroup = (body: unknown) => at(body, 'groupId') !== catalogue.groupId

function noCodeOnForbidden() {
  return answers('POST /calculators/upsert', ({ asked, answer }, body) => {
    if (answer.status === 403 && !hasForeignGroup(asked())) delete body.errorCode
  })
}
