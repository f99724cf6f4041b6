import { setTimeout as delay } from 'node:timers/promises'
import { at, objectsOf } from '../../src/conformance/wire-json.ts'
import { answers, answerWith, type BrokenRule, broken, endedTasks, endless, ends, tasks } from './broken-rule.ts'
import type { BrokenService, Json } from './broken-service.ts'

const calculatorsType = 'BulkGetCompanyCalculators'
const answersType = 'BulkUpsertFrameworkAnswers'

/** Rules of what the service does, of tasks, states and moves between them. */
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
  broken('service/queued', 'a search is answered with 302', () =>
    answers('POST /v2/bulk/standards/search', ({ answer }) => {
      answer.status = 302
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
  broken('service/result', 'a finished search of companies names no result file', () =>
    tasks('BulkGetCompanies', (task) => {
      if (task.pageUrls) task.pageUrls = []
    }),
  ),
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
  broken('service/area-imports', 'calculators are refused', () =>
    answers('POST /bulk/calculators/upsert', (exchange) => answerWith(exchange, 500)),
  ),
  broken('service/area-imports', 'answers are refused', () =>
    answers('POST /framework-answers/upsert', (exchange) => answerWith(exchange, 500)),
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
  broken('processing-rules/1', 'a later search is picked up before an earlier one', () =>
    answers('GET /bulk/tasks', ({ answer }) => {
      const [newest, before] = objectsOf(answer.json)
      if (newest && before) Object.assign(before, { status: 'Pending' })
      if (newest?.status === 'Pending') newest.status = 'Scheduled'
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
  broken('task/result', 'a mapping has pages beside its file', () =>
    tasks(null, (task) => {
      if (task.file) task.pageUrls = ['http://127.0.0.1:9/none']
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
  broken('moves/cancel', 'what was cancelled ends in Error', () =>
    endedTasks((task) => {
      if (task.status === 'Cancelled') task.status = 'Error'
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
