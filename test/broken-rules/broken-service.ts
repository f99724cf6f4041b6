import { createHmac } from 'node:crypto'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export type Json = Record<string, unknown>

/** A call of the API and its answer, which a rule-breaker may change. */
export type Exchange = {
  method: string
  /** Without the query. */
  path: string
  key: string | undefined
  headers: IncomingHttpHeaders
  /** What was sent, parsed; undefined where it is no JSON. */
  asked: () => unknown
  /** `json` is undefined where the body is none. */
  answer: { status: number; json: unknown }
}

/** A result file, and of which request and page it is. */
export type File = { requestType: string | null; kind: string; page: number; json: unknown }

/** A delivery on its way to the receiver. */
export type Delivery = { path: string; headers: Record<string, string>; json: Json }

/** What breaks a rule. Each hook may change what it is given; whatever it leaves is passed on as it came. */
export type Hooks = {
  /** Before a call is passed on: an answer given here is the answer, and the service never hears of the call. */
  instead?: (call: Omit<Exchange, 'answer'>) => Exchange['answer'] | null
  /** What is passed on in place of the body; undefined: the body as it came. */
  pass?: (call: Omit<Exchange, 'answer'>) => unknown
  answer?: (exchange: Exchange) => void | Promise<void>
  file?: (file: File) => void
  /** The receiver hears nothing, and the service is told 200 ('lost') or 500 ('swallowed'). */
  delivery?: (delivery: Delivery) => Fate
}

export type Fate = 'lost' | 'swallowed' | undefined

export type BrokenService = {
  url: string
  /** Breaks this rule from now on, and no other; says how often something was changed. */
  break: (hooks: Hooks) => { changes: () => number }
  /** Asks the service itself. */
  ask: (method: string, path: string, key?: string) => Promise<{ status: number; json: unknown }>
  close: () => Promise<void>
}

type Raw = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** The real service with one rule broken: a proxy in front of its API, of its result files and of its webhooks. */
export async function openBrokenService(real: { url: string; filesUrl: string }): Promise<BrokenService> {
  let hooks: Hooks = {}
  let changes = 0
  /** The receiver that the webhooks of this run lead to, and what is known of them. */
  let receiver = ''
  const secrets = new Map<string, string[]>()
  const pathOfWebhook = new Map<string, string>()
  const files = new Map<string, Omit<File, 'json'>>()

  const noting = async (value: unknown, change: () => unknown): Promise<void> => {
    const before = JSON.stringify(value)
    await change()
    if (JSON.stringify(value) !== before) changes += 1
  }

  const api = await listen(async (request, body) => {
    const path = (request.url ?? '').replace(/\?.*$/, '')
    const isWebhook = path.startsWith('/sandbox/webhook')
    const text = body.toString('utf8')
    if (isWebhook) receiver = /"url":"http:\/\/(127\.0\.0\.1:\d+)\/main"/.exec(text)?.[1] ?? receiver
    const sent = isWebhook && receiver !== '' ? Buffer.from(text.replaceAll(receiver, deliveries.host)) : body
    const { method = 'GET', headers } = request
    const call = { method, path, key: headers.authorization, headers, asked: () => parsed(body) }
    const instead = hooks.instead?.(call) ?? null
    if (instead !== null) changes += 1
    const passed = hooks.pass?.(call)
    if (passed !== undefined) changes += 1
    const passedOn = passed === undefined ? sent : Buffer.from(JSON.stringify(passed))
    const raw = instead === null ? await send(`${real.url}${request.url}`, { method, headers, body: passedOn }) : null
    const text2 = (raw?.body.toString('utf8') ?? '').replaceAll(real.filesUrl, `http://${downloads.host}`)
    const shown = isWebhook && receiver !== '' ? text2.replaceAll(deliveries.host, receiver) : text2
    const answer = instead ?? { status: raw?.status ?? 0, json: parsed(Buffer.from(shown)) }
    learn(call, answer.json)
    const exchange = { ...call, answer }
    await noting(exchange.answer, () => hooks.answer?.(exchange))
    const { status, json } = exchange.answer
    return {
      status,
      headers: { 'content-type': 'application/json' },
      body: json === undefined ? shown : JSON.stringify(json),
    }
  })

  /** Remembers which files belong to which task, and with which secrets deliveries are signed. */
  const learn = ({ path, asked }: Pick<Exchange, 'path' | 'asked'>, json: unknown) => {
    const shown = (json ?? {}) as {
      requestType?: string
      taskKind?: string
      pageUrls?: string[]
      file?: { url: string }
    }
    const urls = Array.isArray(shown.pageUrls) ? shown.pageUrls : shown.file ? [shown.file.url] : []
    for (const [page, url] of urls.entries()) {
      const about = { requestType: shown.requestType ?? null, kind: shown.taskKind ?? '', page }
      files.set(new URL(url).pathname, about)
    }
    const [, id] = /^\/sandbox\/webhooks(?:\/([^/]+)\/rotate-secret)?$/.exec(path) ?? []
    const { secret, id: created } = (json ?? {}) as { secret?: string; id?: string }
    if (secret === undefined) return
    if (created !== undefined) pathOfWebhook.set(created, new URL((asked() as { url: string }).url).pathname)
    const webhook = pathOfWebhook.get(created ?? id ?? '') ?? ''
    secrets.set(webhook, created === undefined ? [secret, ...(secrets.get(webhook) ?? [])] : [secret])
  }

  const downloads = await listen(async (request) => {
    const raw = await send(`${real.filesUrl}${request.url}`, { method: 'GET', headers: {}, body: null })
    const about = files.get((request.url ?? '').replace(/\?.*$/, ''))
    const file = { ...(about ?? { requestType: null, kind: '', page: 0 }), json: parsed(raw.body) }
    await noting(file, () => hooks.file?.(file))
    return { status: raw.status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(file.json) }
  })

  const deliveries = await listen(async (request, body) => {
    const path = request.url ?? '/'
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const delivery = { path, headers, json: JSON.parse(body.toString('utf8')) as Json }
    const before = JSON.stringify(delivery.json)
    let fate: Fate
    await noting(delivery, () => {
      fate = hooks.delivery?.(delivery)
    })
    if (fate !== undefined) {
      changes += 1
      return { status: fate === 'lost' ? 200 : 500, headers: {}, body: '' }
    }
    const after = JSON.stringify(delivery.json)
    if (after !== before) resign(delivery, after)
    const forwarded = after === before ? body : Buffer.from(after)
    const raw = await send(`http://${receiver}${path}`, { method: 'POST', headers: delivery.headers, body: forwarded })
    const { location, 'content-type': type } = raw.headers
    return {
      status: raw.status,
      headers: { ...(location && { location }), ...(type && { 'content-type': type }) },
      body: raw.body,
    }
  })

  /** A delivery whose body was changed is signed again: a rule of bodies is broken, and not that of signatures. */
  const resign = ({ path, headers }: Delivery, body: string) => {
    const entries = headers['webhook-signature']?.split(' ').length ?? 1
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    headers['webhook-signature'] = (secrets.get(path) ?? [])
      .slice(0, entries)
      .map(
        (secret) =>
          `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
            .update(content)
            .digest('base64')}`,
      )
      .join(' ')
  }

  return {
    url: `http://${api.host}`,
    break: (next) => {
      hooks = next
      changes = 0
      return { changes: () => changes }
    },
    ask: async (method, path, key = 'demo-key') => {
      const raw = await send(`${real.url}${path}`, { method, headers: { authorization: key }, body: null })
      return { status: raw.status, json: parsed(raw.body) }
    },
    close: async () => {
      for (const { close } of [api, downloads, deliveries]) await close()
    },
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

type Reply = { status: number; headers: Record<string, string>; body: string | Buffer }

/** A server on loopback. A call whose caller has gone gets no answer. */
async function listen(
  handle: (request: IncomingMessage, body: Buffer) => Promise<Reply>,
): Promise<{ host: string; close: () => Promise<void> }> {
  const server: Server = createServer((request, response) => {
    collect(request)
      .then((body) => handle(request, body))
      .then(
        ({ status, headers, body }) => response.writeHead(status, headers).end(body),
        () => response.destroy(),
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const passedHeaders = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
    ),
  )

function send(
  url: string,
  { method, headers, body }: { method: string; headers: IncomingHttpHeaders; body: Buffer | null },
): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sized = body === null || body.length === 0 ? {} : { 'content-length': String(body.length) }
    const inner = httpRequest(url, { method, headers: { ...passedHeaders(headers), ...sized } }, (answer) => {
      collect(answer).then(
        (collected) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: collected }),
        reject,
      )
    })
    inner.on('error', reject)
    inner.end(body ?? undefined)
  })
}
