import { at } from '../../src/conformance/wire-json.ts'
import { answers, type BrokenRule, broken, events, isMain } from './broken-rule.ts'
import type { Hooks } from './broken-service.ts'

const otherId = '00000000-0000-4000-8000-00000000000b'
/** Rules of webhooks, of their events, signatures and deliveries. */
export const eventRules = (): BrokenRule[] => [
  broken('service/push', 'an event of a change in flight is lost', () =>
    events(['bulk.task.in_progress'], () => 'lost'),
  ),
  broken('delivery/guarantee', 'the end of one task is never told', () => {
    let lost: unknown
    return events(['bulk.task.succeeded'], (data, { path }) => {
      if (path !== '/main') return
      lost ??= data.correlationId
      return data.correlationId === lost ? 'lost' : undefined
    })
  }),
  broken('delivery/guarantee', 'the end of what failed is never told', () =>
    events(['bulk.task.failed'], () => 'lost'),
  ),

  broken('moves/creation', 'the initial Pending is told', () => initialPending()),
  broken('topics/no-initial', 'the initial Pending is told', () => initialPending()),
  broken('moves/cancel', 'a cancel is not told', () => events(['bulk.task.cancelled'], () => 'lost')),
  broken('moves/re-queue', 'a status that is entered again is told once', () => {
    const told = new Set<string>()
    return events([], (data, { path, json }) => {
      const key = `${path} ${String(json.type)} ${String(data.correlationId)}`
      const again = told.has(key)
      told.add(key)
      return again ? 'lost' : undefined
    })
  }),
  broken('application/events', 'a change of an application is not told', () => {
    let nth = 0
    return events(['application.status_changed'], (_data, { path }) => {
      if (path === '/certifier') nth += 1
      return nth === 1 ? 'lost' : undefined
    })
  }),
  broken('authentication/4', 'two keys of one profile have one apiKeyId', () =>
    events([], (data) => {
      if (data.apiKeyId) data.apiKeyId = otherId
    }),
  ),
  broken('authentication/7', 'a delivery is not signed with the secret', () =>
    badSignature((entry) => entry.split('').toReversed().join('')),
  ),
  broken('authentication/7', 'a delivery comes without the custom header', () => ({
    delivery: ({ headers }) => void delete headers['x-nightferry-conformance'],
  })),

  broken('events/source', 'bulk requests fire no event', () =>
    events([], (_data, delivery) => (isMain(delivery) ? 'lost' : undefined)),
  ),
  broken('events/source', 'a mapping fires no event', () =>
    events([], ({ taskKind }) => (taskKind === 'CompanyMappingRequest' ? 'lost' : undefined)),
  ),
  ...(
    [
      ['scheduled', 'bulk.task.scheduled'],
      ['in-progress', 'bulk.task.in_progress'],
      ['succeeded', 'bulk.task.succeeded'],
      ['partially-succeeded', 'bulk.task.partially_succeeded'],
      ['failed', 'bulk.task.failed'],
      ['cancelled', 'bulk.task.cancelled'],
      ['pending', 'bulk.task.pending'],
    ] as const
  ).map(([name, topic]) =>
    broken(`topics/${name}`, `${topic} carries another status`, () =>
      events([topic], (data) => {
        data.status = 'Unknown'
      }),
    ),
  ),
  broken('topics/application-status', 'application.status_changed carries the status before', () =>
    events(['application.status_changed'], (data) => {
      data.status = 'Before'
    }),
  ),
  broken('topics/application-answers', 'application.answers_changed carries a status', () =>
    events(['application.answers_changed'], (data) => {
      data.status = 'Approved'
    }),
  ),
  broken('topics/terminal', 'a topic in flight carries a terminal status', () =>
    events(['bulk.task.in_progress'], (data) => {
      data.status = 'Success'
    }),
  ),
  broken('topics/certifiers', 'the owner of an application is not told', () =>
    events(['application.status_changed'], () => 'lost'),
  ),
  broken('topics/test', 'the Test button sends another topic', () =>
    events(['webhook.test'], (_data, { json }) => {
      json.type = 'webhook.ping'
    }),
  ),
  broken('topics/test', 'webhook.test can be subscribed to', () =>
    answers('PATCH /sandbox/webhooks/*', (exchange) => {
      if (JSON.stringify(at(exchange.asked(), 'topics') ?? []).includes('webhook.test')) exchange.answer.status = 200
    }),
  ),

  broken('envelope/id', 'an event has another id at each attempt', () =>
    events([], (_data, { path, json, headers }) => {
      if (path !== '/failing') return
      json.id = crypto.randomUUID()
      headers['webhook-id'] = String(json.id)
    }),
  ),
  broken('envelope/id', 'the id of an event is no UUID', () =>
    events([], (_data, { json, headers }) => {
      json.id = `evt_${String(json.id)}`
      headers['webhook-id'] = String(json.id)
    }),
  ),
  broken('envelope/type', 'the type is no topic', () =>
    events(['bulk.task.scheduled'], (_data, { json }) => {
      json.type = 'task.scheduled'
    }),
  ),
  broken('envelope/timestamp', 'the timestamp has no milliseconds', () =>
    events([], (_data, { json }) => {
      json.timestamp = String(json.timestamp).replace(/\.\d+Z/, 'Z')
    }),
  ),
  broken('envelope/data', 'the data are a text', () =>
    events(['bulk.task.scheduled'], (data, { json }) => {
      json.data = JSON.stringify(data)
    }),
  ),
  broken('bulk-event/correlation-id', 'an event names no task', () =>
    events(['bulk.task.succeeded'], (data) => {
      data.correlationId = 'task-1'
    }),
  ),
  broken('bulk-event/correlation-id', 'an event names a task that is nowhere', () =>
    events(['bulk.task.succeeded'], (data) => {
      data.correlationId = otherId
    }),
  ),
  broken('bulk-event/task-kind', 'an event of a mapping has the kind of other requests', () =>
    events([], (data) => {
      if (data.taskKind === 'CompanyMappingRequest') data.taskKind = 'BulkProcessingRequest'
    }),
  ),
  broken('bulk-event/task-kind', 'the kind of a task is another one', () =>
    events(['bulk.task.succeeded'], (data) => {
      data.taskKind = 'Task'
    }),
  ),
  broken('bulk-event/request-type', 'the request type of a search is left out', () =>
    events([], (data) => {
      if (data.requestType) data.requestType = null
    }),
  ),
  broken('bulk-event/request-type', 'one search has another request type than its task', () =>
    events([], (data) => {
      if (data.requestType === 'BulkGetCompanies') data.requestType = 'BulkGetStandards'
    }),
  ),
  broken('bulk-event/request-type', 'a mapping has a request type', () =>
    events([], (data) => {
      if (data.taskKind === 'CompanyMappingRequest') data.requestType = 'CompanyMapping'
    }),
  ),
  broken('bulk-event/status', 'the status is in small letters', () =>
    events([], (data) => {
      if (data.correlationId) data.status = String(data.status).toLowerCase()
    }),
  ),
  broken('bulk-event/profile-id', 'the profile is a text', () =>
    events([], (data) => {
      if (data.profileId) data.profileId = JSON.stringify(data.profileId)
    }),
  ),
  broken('bulk-event/profile-id', 'an event names another profile', () =>
    events(['bulk.task.succeeded'], (data) => {
      data.profileId = 99
    }),
  ),
  broken('bulk-event/api-key-id', 'an event names another key', () =>
    events(['bulk.task.succeeded'], (data) => {
      data.apiKeyId = otherId
    }),
  ),
  broken('bulk-event/api-key-id', 'the key is left out', () => events([], (data) => void delete data.apiKeyId)),
  broken('application-event/application-id', 'an event names another application', () =>
    events([], (data) => {
      if (data.applicationId) data.applicationId = otherId
    }),
  ),
  broken('application-event/status', 'the status of an application is a number', () =>
    events(['application.status_changed'], (data) => {
      data.status = 2
    }),
  ),
  broken('application-event/profile-id', 'an event of an application names the wrong profile', () =>
    events(['application.status_changed'], (data) => {
      data.profileId = 4711
    }),
  ),
  broken('application-event/profile-id', 'an event of answers names the wrong profile', () =>
    events(['application.answers_changed'], (data) => {
      data.profileId = 4711
    }),
  ),
  broken('envelope/test', 'a test delivery names a profile', () =>
    events(['webhook.test'], (data) => {
      data.profileId = 4711
    }),
  ),
  broken('envelope/pointer', 'an event carries a result', () =>
    events(['bulk.task.succeeded'], (data) => {
      data.pageUrls = []
    }),
  ),
  broken('application-event/folding', 'changes of answers that folded into one event are not told', () => {
    let lost: unknown
    return events(['application.answers_changed'], (_data, { path, json }) => {
      if (path === '/certifier') lost ??= json.id
      return json.id === lost ? 'lost' : undefined
    })
  }),
  broken('application-event/echo', 'a change by the API is not told to its owner', () => {
    const byApi: unknown[] = []
    return {
      answer: ({ path, asked }) => {
        if (/^\/api\/.*\/applications\/.*\/status$/.test(path)) byApi.push(at(asked(), 'status'))
      },
      delivery: ({ path, json }) =>
        path === '/certifier' && byApi[0] !== undefined && at(json, 'data', 'status') === byApi[0] ? 'lost' : undefined,
    }
  }),

  broken('signature/id', 'webhook-id is not the id of the event', () =>
    events([], (_data, { headers }) => {
      headers['webhook-id'] = otherId
    }),
  ),
  broken('signature/timestamp', 'webhook-timestamp is in milliseconds', () =>
    events([], (_data, { headers }) => {
      headers['webhook-timestamp'] = `${headers['webhook-timestamp']}000`
    }),
  ),
  broken('signature/signature', 'an entry has no version', () => badSignature((entry) => entry)),
  broken('signature/1', 'the signature is in hexadecimal', () =>
    badSignature((entry) => `v1,${Buffer.from(entry, 'base64').toString('hex')}`),
  ),
  broken('signature/2', 'the old secret goes on signing alone', () => ({
    delivery: ({ headers, path }) => {
      if (path === '/main') headers['webhook-signature'] = headers['webhook-signature']?.split(' ').at(-1) ?? ''
    },
  })),
  broken('signature/3', 'the body is changed after it was signed', () => ({
    delivery: ({ headers }) => {
      headers['webhook-timestamp'] = String(Number(headers['webhook-timestamp']) + 1)
    },
  })),
  broken('signature/4', 'a delivery bears version 2 only', () => badSignature((entry) => `v2,${entry}`)),
]

/** The first event of each task is shown as the one that should not be. */
function initialPending(): Hooks {
  return events(['bulk.task.scheduled'], (data, { json }) => {
    json.type = 'bulk.task.pending'
    data.status = 'Pending'
  })
}

function badSignature(change: (entry: string) => string): Hooks {
  return {
    delivery: ({ headers }) => {
      const entries = headers['webhook-signature']?.split(' ') ?? []
      headers['webhook-signature'] = entries.map((entry) => change(entry.replace('v1,', ''))).join(' ')
    },
  }
}
