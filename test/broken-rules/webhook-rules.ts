import { at, objectsOf } from '../../src/conformance/wire-json.ts'
import { answers, answerWith, type BrokenRule, broken, events, isMain } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'

const otherId = '00000000-0000-4000-8000-00000000000c'

/** Rules of webhooks, of deliveries and of their log. */
export const webhookRules = (): BrokenRule[] => [
  broken('webhook/url', 'an address in a private network is taken', () =>
    answers('POST /sandbox/webhook-addresses/judge', (exchange, verdict) => {
      if (String(at(exchange.asked(), 'url')).includes('10.1.2.3')) verdict.refused = null
    }),
  ),
  broken('errors/webhook-urls', 'an address with credentials is taken', () => takesAddress('user:secret')),
  broken('limits/webhook-url', 'an address of 2049 characters is taken', () => takesAddress('x'.repeat(2000))),
  broken('webhook/topics', 'a webhook needs no topic', () => takesNoTopics()),
  broken('limits/topics', 'a webhook needs no topic', () => takesNoTopics()),
  broken('webhook/custom-header', 'the custom header is not sent', () => ({
    delivery: ({ headers }) => void delete headers['x-nightferry-conformance'],
  })),
  broken('webhook/custom-header', 'the value of the custom header can be read back', () =>
    answers('GET /sandbox/webhooks/*', (_exchange, webhook) => {
      webhook.header = { name: 'x-nightferry-conformance', value: 'a value that cannot be read back' }
    }),
  ),
  broken('webhook/custom-header', 'a reserved header can be set', () =>
    answers('PATCH /sandbox/webhooks/*', (exchange) => {
      if (String(at(exchange.asked(), 'header', 'name')).startsWith('webhook-')) exchange.answer.status = 200
    }),
  ),
  broken('webhook/secret', 'a rotation returns the old secret', () => {
    let first: unknown
    return {
      answer: ({ method, path, answer }) => {
        if (method === 'POST' && path === '/sandbox/webhooks') first ??= at(answer.json, 'secret')
        if (path.endsWith('/rotate-secret')) (answer.json as Json).secret = first
      },
    }
  }),
  broken('webhook/secret', 'the secret can be read', () => {
    const secrets = new Set<unknown>()
    return {
      answer: ({ method, path, answer }) => {
        const secret = at(answer.json, 'secret')
        if (method === 'POST' && secret !== undefined) secrets.add(secret)
        if (method === 'GET' && /webhooks\/[0-9a-f-]{36}$/.test(path))
          (answer.json as Json).secret = [...secrets].at(-1)
      },
    }
  }),
  broken('webhook/secret', 'a secret has no prefix', () =>
    answers('POST /rotate-secret', (_exchange, body) => {
      body.secret = String(body.secret).replace('whsec_', 'secret_')
    }),
  ),
  broken('webhook/secret', 'a rotation shows no secret', () =>
    answers('POST /rotate-secret', ({ answer }) => {
      answer.json = {}
    }),
  ),
  broken('webhook/enabled', 'disabling forgets the topics', () => {
    let disabled = false
    return {
      answer: ({ method, path, asked, answer }) => {
        if (at(asked(), 'enabled') === false) disabled = true
        if (disabled && method === 'GET' && /webhooks\/[0-9a-f-]{36}$/.test(path)) (answer.json as Json).topics = []
      },
    }
  }),
  broken('webhook/ownership', 'a webhook is not told of a request of its own profile', () =>
    events([], (_data, delivery) => (isMain(delivery) ? 'lost' : undefined)),
  ),
  broken('webhook/ownership', 'a webhook is told of a request of another profile', () =>
    events(['application.status_changed'], (data, { path }) => {
      if (path === '/certifier') data.correlationId = otherId
    }),
  ),
  broken('webhook/count', 'a sixth webhook is taken', () => countsSix()),
  broken('limits/webhooks-per-profile', 'a sixth webhook is taken', () => countsSix()),

  broken('delivery/success', 'a 200 with HTML is not enough', () =>
    deliveryLog((line) => {
      if (line.status === 'delivered') line.status = 'failed'
    }),
  ),
  broken('delivery/success', 'one delivery that was answered 200 is not enough', () =>
    answers('GET /deliveries', ({ answer }) => {
      const last = objectsOf(answer.json).findLast(({ status }) => status === 'delivered')
      if (last) last.status = 'failed'
    }),
  ),
  broken('delivery/redirects', 'a redirect counts as delivered', () =>
    deliveryLog((line) => {
      if (objectsOf(line.attempts).some(({ httpStatus }) => httpStatus === 307)) line.status = 'delivered'
    }),
  ),
  broken('delivery/ladder', 'a gap is two and a half minutes too long in the log', () =>
    deliveryLog((line) => {
      for (const [index, attempt] of attemptsInOrder(line).entries())
        if (index >= 2) attempt.at = later(attempt.at, 150_000)
    }),
  ),
  broken('delivery/ladder', 'five attempts come where the log has six', () => losesAttempt(3)),
  broken('limits/attempts', 'five attempts come where the log has six', () => losesAttempt(3)),
  broken('limits/attempts', 'the log has a seventh attempt', () =>
    deliveryLog((line) => {
      const list = objectsOf(line.attempts)
      if (list.length >= 6) line.attempts = [...list, ...list.slice(-1)]
    }),
  ),
  broken('delivery/after-sixth', 'a delivery is never given up', () =>
    deliveryLog((line) => {
      if (line.status === 'failed') line.status = 'queued'
    }),
  ),
  broken('delivery/after-sixth', 'failures disable the webhook', () =>
    answers('GET /sandbox/webhooks/*', (_exchange, webhook) => {
      webhook.enabled = false
    }),
  ),
  broken('delivery/cadence', 'events wait for three minutes', () =>
    deliveryLog((line) => {
      line.createdAt = later(line.createdAt, -180_000)
    }),
  ),
  broken('delivery/log', 'the log has no latency', () =>
    deliveryLog((line) => {
      for (const attempt of objectsOf(line.attempts)) delete attempt.latencyMs
    }),
  ),
  broken('delivery/log', 'nothing can be re-sent', () =>
    answers('POST /resend', (exchange) => answerWith(exchange, 404)),
  ),
  broken('delivery/disabling', 'what is queued stays queued when the webhook is disabled', () =>
    deliveryLog((line) => {
      if (line.status === 'stopped') line.status = 'queued'
    }),
  ),
  broken('errors/webhook-answers', 'a 500 is not tried again', () =>
    deliveryLog((line) => {
      if (objectsOf(line.attempts).some(({ httpStatus }) => httpStatus === 500)) line.status = 'failed'
    }),
  ),
  broken('limits/webhook-deadline', 'a receiver has five seconds', () =>
    deliveryLog((line) => {
      for (const attempt of objectsOf(line.attempts)) if (attempt.httpStatus === null) attempt.latencyMs = 5000
    }),
  ),
  broken('limits/log-retention', 'the log is kept for ever', () => {
    let kept: unknown
    return answers('GET /deliveries', ({ answer }) => {
      if (objectsOf(answer.json).length > 0) kept = answer.json
      else if (kept) answer.json = kept
    })
  }),
]

function takesAddress(part: string): Hooks {
  return answers('PATCH /sandbox/webhooks/*', (exchange) => {
    if (exchange.answer.status === 400 && String(at(exchange.asked(), 'url')).includes(part))
      exchange.answer.status = 200
  })
}

function takesNoTopics(): Hooks {
  return answers('PATCH /sandbox/webhooks/*', (exchange) => {
    const topics = at(exchange.asked(), 'topics')
    if (Array.isArray(topics) && topics.length === 0) exchange.answer.status = 200
  })
}

/** The list of webhooks shows one more than there may be. */
function countsSix(): Hooks {
  return answers('GET /sandbox/webhooks', ({ answer }) => {
    const list = objectsOf(answer.json)
    if (list.length >= 5) answer.json = [...list, { ...list[0], id: otherId }]
  })
}

function deliveryLog(change: (line: Json) => void): Hooks {
  return answers('GET /deliveries', ({ answer }) => {
    for (const line of objectsOf(answer.json)) change(line)
  })
}

/** The failing receiver never hears of one attempt of each event. */
function losesAttempt(which: number): Hooks {
  const attempts = new Map<unknown, number>()
  return {
    delivery: ({ path, json }) => {
      if (path !== '/failing') return undefined
      attempts.set(json.id, (attempts.get(json.id) ?? 0) + 1)
      return attempts.get(json.id) === which ? 'swallowed' : undefined
    },
  }
}

function attemptsInOrder(line: Json): Json[] {
  return objectsOf(line.attempts).toSorted((one, other) => String(one.at).localeCompare(String(other.at)))
}

function later(time: unknown, ms: number): string {
  return new Date(Date.parse(String(time)) + ms).toISOString()
}
