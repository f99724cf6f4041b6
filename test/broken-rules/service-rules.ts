import { setTimeout as delay } from 'node:timers/promises'
import { at, objectsOf } from '../../src/conformance/wire-json.ts'
import {
  answers,
  answerWith,
  type BrokenRule,
  broken,
  companies,
  endedTasks,
  endless,
  ends,
  files,
  tasks,
} from './broken-rule.ts'
import type { BrokenService, Json } from './broken-service.ts'

const calculatorsType = 'BulkGetCompanyCalculators'
const answersType = 'BulkUpsertFrameworkAnswers'

/** Rules of what the service does, of tasks, states, endpoints, keys, errors, limits and versions. */
export const serviceRules = (real: () => BrokenService): BrokenRule[] => [
  broken('introduction/paths', 'the tasks are not where the path says', () =>
    answers('GET /v2/bulk/tasks', (exchange) => answerWith(exchange, 404)),
  ),
  broken('service/queued', 'a search is answered only after its task has ended', () => ({
    answer: async ({ method, path, answer }) => {
      const id = at(answer.json, 'correlationId')
      if (method !== 'POST' || !path.endsWith('/search') || typeof id !== 'string') return
      for (;;) {
        const { json } = await real().ask('GET', `/api/v2/bulk/tasks/${id}`)
        if (ends.includes(String(at(json, 'status')))) break
        await delay(10)
      }
      await delay(300)
      ;(answer.json as Json).late = true
    },
  })),
  broken('service/queued', 'a search is answered with 202', () =>
    answers('POST /v2/bulk/standards/search', ({ answer }) => {
      answer.status = 202
    }),
  ),
  broken('service/immediate', 'the groups come as a correlation id', () =>
    answers('GET /groups', ({ answer }) => {
      answer.json = { correlationId: '00000000-0000-4000-8000-000000000001' }
    }),
  ),
  broken('service/workflow', 'a finished search has no page', () =>
    tasks(calculatorsType, (task) => void delete task.pageUrls),
  ),
  broken('service/submit', 'the answer to a submission has no correlation id', () =>
    answers('POST /v2/bulk/companies/search', ({ answer }) => {
      answer.json = { accepted: true }
    }),
  ),
  broken('service/poll', 'the task endpoint does not know tasks of v1', () => {
    let old = ''
    return {
      answer: (exchange) => {
        const { path, answer } = exchange
        if (path === '/api/v1/bulk/calculators/search') old = String(at(answer.json, 'correlationId'))
        if (old !== '' && path.endsWith(`/tasks/${old}`)) answerWith(exchange, 404)
      },
    }
  }),
  broken('service/result', 'a result file is a list of nothing', () => ({
    file: (file) => {
      if (file.requestType === 'BulkGetCompanies') file.json = []
    },
  })),
  broken('service/result-search', 'a finished search lists no address', () =>
    tasks(calculatorsType, (task) => {
      if (task.pageUrls) task.pageUrls = []
    }),
  ),
  broken('service/result-file', 'mappings end without a file', () => tasks(null, (task) => void delete task.file)),
  broken('service/result-none', 'answers end with a file', () =>
    tasks(answersType, (task) => {
      task.file = { url: 'http://127.0.0.1:9/none' }
    }),
  ),
  broken('service/areas', 'there are no applications', () =>
    answers('GET /applications', (exchange) => answerWith(exchange, 404)),
  ),
  broken('service/area-mapping', 'a mapping that finds a hotel ends in Error', () =>
    tasks(null, (task) => {
      if (ends.includes(String(task.status))) task.status = 'Error'
    }),
  ),
  broken('service/area-imports', 'standard holders are refused', () =>
    answers('POST /standards/holders/upsert', (exchange) => answerWith(exchange, 500)),
  ),
  broken('service/area-searches', 'the search for answers ends without pages', () =>
    tasks('BulkGetFrameworkAnswers', (task) => void delete task.pageUrls),
  ),
  broken('service/area-lookups', 'a framework that is listed is not there', () =>
    answers('GET /frameworks/*', (exchange) => answerWith(exchange, 404)),
  ),
  broken('service/area-certifiers', 'a certifier may not see its applications', () => ({
    answer: (exchange) => {
      if (exchange.key === 'certifier-key' && exchange.path.endsWith('/applications')) answerWith(exchange, 403)
    },
  })),
  broken('processing-rules/1', 'a later search begins before an earlier one', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      const [newest, ...older] = objectsOf(answer.json)
      if (newest && older.some(({ status }) => status === 'Pending' || status === 'Scheduled'))
        newest.status = 'InProgress'
    }),
  ),
  broken('processing-rules/1', 'searches are created in another order than sent', () => {
    let ms = Date.parse('2026-01-01T00:00:00Z')
    const times = new Map<unknown, string>()
    return endedTasks((task) => {
      ms -= 1000
      if (!times.has(task.correlationId)) times.set(task.correlationId, new Date(ms).toISOString())
      task.createdAt = times.get(task.correlationId)
    })
  }),
  endless('processing-rules/2', 'one of several searches never ends', () =>
    tasks('BulkGetStandardHolders', (task) => {
      task.status = 'InProgress'
    }),
  ),
  broken('processing-rules/4', 'a large request is refused for its size', () =>
    answers('POST /bulk/company-mappings', (exchange) => {
      if (objectsOf(at(exchange.asked(), 'companies')).length > 1000) answerWith(exchange, 413)
    }),
  ),
  broken('processing-rules/5', 'failed items are not told', () => tasks(answersType, (task) => void delete task.error)),
  broken('processing-rules/6', 'the report leaves out what succeeded', () =>
    answers('GET /sandbox/tasks/*/report', (_exchange, report) => {
      report.rows = objectsOf(report.rows).filter(({ outcome }) => outcome === 'failed')
    }),
  ),

  broken('task/correlation-id', 'a task names another correlation id', () =>
    tasks('BulkGetStandards', (task) => {
      task.correlationId = '00000000-0000-4000-8000-000000000002'
    }),
  ),
  broken('task/status-and-type', 'a task has no request type', () =>
    tasks('BulkGetCompanies', (task) => {
      task.requestType = undefined
    }),
  ),
  broken('task/status-and-type', 'tasks end in a status that nobody knows', () =>
    endedTasks((task) => {
      task.status = 'Completed'
    }),
  ),
  broken('task/kind', 'a mapping is of the kind of other requests', () =>
    tasks(null, (task) => {
      task.taskKind = 'BulkProcessingRequest'
    }),
  ),
  broken('task/error', 'failed rows have no reason', () =>
    tasks(answersType, (task) => {
      for (const row of objectsOf(at(task, 'error', 'rowErrors'))) delete row.reason
    }),
  ),
  broken('task/result', 'a finished search has a file beside its pages', () =>
    tasks(calculatorsType, (task) => {
      task.file = { url: 'http://127.0.0.1:9/none' }
    }),
  ),

  endless('states/pending', 'a task stays Pending for ever', () =>
    tasks('BulkGetStandards', (task) => {
      task.status = 'Pending'
    }),
  ),
  endless('states/scheduled', 'a task stays Scheduled for ever', () =>
    tasks('BulkGetStandards', (task) => {
      task.status = 'Scheduled'
    }),
  ),
  endless('states/in-progress', 'a task stays InProgress for ever', () =>
    tasks('BulkGetStandards', (task) => {
      task.status = 'InProgress'
    }),
  ),
  broken('states/success', 'Success is left again', () => leaves('Success')),
  broken('states/success', 'what succeeded ends in a status that nobody knows', () =>
    endedTasks((task) => {
      if (task.status === 'Success') task.status = 'Done'
    }),
  ),
  broken('states/partial-success', 'PartialSuccess is left again', () => leaves('PartialSuccess')),
  broken('states/error', 'Error is left again', () => leaves('Error')),
  broken('states/cancelled', 'Cancelled is left again', () => leaves('Cancelled')),
  endless('states/terminal', 'a task with failed rows does not end', () =>
    tasks(answersType, (task) => {
      if (task.status === 'PartialSuccess') task.status = 'InProgress'
    }),
  ),
  broken('moves/cancel', 'what has ended is cancelled once more', () =>
    answers('POST /cancel', ({ answer }) => {
      if (answer.status === 409) answer.status = 200
    }),
  ),
  broken('moves/cancel', 'what has not started cannot be cancelled', () => refusesCancels()),
  broken('endpoints/cancel', 'what has not started cannot be cancelled', () => refusesCancels()),
  broken('endpoints/open-cancel', 'cancelling is nowhere', () =>
    answers('POST /cancel', (exchange) => answerWith(exchange, 404)),
  ),
  broken('application/open-moves', 'the status of an application cannot be set', () => ({
    answer: (exchange) => {
      if (/\/api\/.*applications\/.*status$/.test(exchange.path)) answerWith(exchange, 405)
    },
  })),

  broken('endpoints/conventions', 'a JSON body is not taken', () =>
    answers('POST /v2/bulk/standards/search', (exchange) => answerWith(exchange, 415)),
  ),
  broken('endpoints/company-mappings', 'the file of a mapping is a list of nothing', () => ({
    file: (file) => {
      if (file.kind === 'CompanyMappingRequest') file.json = []
    },
  })),
  broken('endpoints/framework-answers-upsert', '50,001 rows are taken', () => takesTooMany()),
  broken('endpoints/calculators-upsert', 'the file of calculators leaves the failed company out', () =>
    files('BulkUpsertCompanyCalculators', (file) => {
      file.companies = objectsOf(file.companies).filter(({ status }) => status === 'Success')
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
  broken('endpoints/custom-properties', 'no custom property can be an identifier', () => noIdentifiers()),
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
    answers('POST /calculators/upsert', ({ answer }) => {
      if (answer.status === 403) Object.assign(answer, { status: 200, json: { correlationId: crypto.randomUUID() } })
    }),
  ),
  broken('authentication/5', 'an unknown key may read the groups', () => ({
    answer: ({ path, answer }) => {
      if (path.endsWith('/groups') && answer.status === 401) Object.assign(answer, { status: 200, json: [] })
    },
  })),
  broken('authentication/8', 'an unknown key is answered 403', () => ({
    answer: ({ answer }) => {
      if (answer.status === 401) answer.status = 403
    },
  })),

  broken('errors/missing-ids', 'a calculator upsert without a group is answered 422', () =>
    answers('POST /calculators/upsert', ({ answer }) => {
      if (answer.status === 400) answer.status = 422
    }),
  ),
  broken('errors/missing-ids', 'the 400 of a calculator upsert has no message', () =>
    answers('POST /calculators/upsert', ({ answer }, body) => {
      if (answer.status === 400) delete body.message
    }),
  ),
  broken('errors/foreign-ids', 'a calculator upsert with a foreign group is answered 404', () =>
    answers('POST /calculators/upsert', ({ answer }) => {
      if (answer.status === 403) answer.status = 404
    }),
  ),
  broken('errors/foreign-ids', 'the 403 of a calculator upsert has no errorCode', () => noCodeOnForbidden()),
  broken('errors/fields', 'the 403 of a calculator upsert has no errorCode', () => noCodeOnForbidden()),
  broken('errors/fields', 'error answers have no message', () => ({
    answer: ({ answer }) => {
      if (answer.status === 404 && answer.json) delete (answer.json as Json).message
    },
  })),
  broken('errors/items', 'the file of a mapping leaves out what was not found', () =>
    files(null, (file) => {
      file.companies = objectsOf(file.companies).filter(({ status }) => status === 'Mapped')
    }),
  ),
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
  broken('versioning/keeps-optional', 'an optional request field became required', () =>
    answers('POST /v2/bulk/standards/search', (exchange) => answerWith(exchange, 400)),
  ),
  broken('versioning/keeps-codes', 'an errorCode is another one the next time', () => {
    let nth = 0
    return {
      answer: ({ key, answer }) => {
        nth += 1
        if (key === undefined && answer.status === 401) (answer.json as Json).errorCode = `code_${nth}`
      },
    }
  }),
  broken('versioning/deprecation', 'a deprecated endpoint is documented as current', () =>
    answers('GET /openapi.json', ({ answer }) => {
      answer.json = JSON.parse(
        JSON.stringify(answer.json).replaceAll('"deprecated":true', '"deprecated":false'),
      ) as unknown
      const paths = at(answer.json, 'paths') as Json
      paths['/api/v1/bulk/calculators/search'] = { post: {} }
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
  broken('versioning/description', 'the description leaves the task endpoint out', () =>
    answers('GET /openapi.json', ({ answer }) => {
      const paths = at(answer.json, 'paths') as Json
      delete paths['/api/v2/bulk/tasks/{correlationId}']
    }),
  ),
  broken('mapping/identifier', 'no custom property is an identifier', () => noIdentifiers()),
  broken('reference/records', 'isIdentifier is a text', () =>
    answers('GET /custom-properties', ({ answer }) => {
      for (const property of objectsOf(answer.json)) property.isIdentifier = String(property.isIdentifier)
    }),
  ),
  broken('mapping/details', 'a mapping finds another company', () =>
    files(null, (file) => {
      for (const company of objectsOf(file.companies)) if (company.companyId) company.companyId = crypto.randomUUID()
    }),
  ),
  broken('mapping/stored', 'a mapping is not stored', () =>
    companies('BulkGetCompanies', (company) => void delete company.fields),
  ),
]

/** After the task was seen in a status it is shown in another. */
function leaves(status: string) {
  const seen = new Set<unknown>()
  return endedTasks((task) => {
    if (task.status !== status) return
    if (seen.has(task.correlationId)) task.status = status === 'Error' ? 'Success' : 'Error'
    seen.add(task.correlationId)
  })
}

/** A cancel is refused before the service hears of it. */
function refusesCancels() {
  return {
    instead: ({ path }: { path: string }) =>
      path.endsWith('/cancel')
        ? { status: 409, json: { errorCode: 'task_started', message: 'It has started.' } }
        : null,
  }
}

function takesTooMany() {
  return answers('POST /framework-answers/upsert', ({ answer }) => {
    if (answer.status === 400) Object.assign(answer, { status: 200, json: { correlationId: crypto.randomUUID() } })
  })
}

function noCodeOnForbidden() {
  return answers('POST /calculators/upsert', ({ answer }, body) => {
    if (answer.status === 403) delete body.errorCode
  })
}

function noIdentifiers() {
  return answers('GET /custom-properties', ({ answer }) => {
    for (const property of objectsOf(answer.json)) property.isIdentifier = false
  })
}
