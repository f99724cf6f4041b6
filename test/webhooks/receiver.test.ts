import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { checkWebhookSettings } from '../../src/webhooks/check-webhook-settings.ts'
import { contract } from '../exchange/test-client.ts'
import { inTime } from '../helpers/in-time.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { bulkEvent, deliver, openInbox, otherSecret, secret, testEvent, type Written } from './inbox-world.ts'

const world = await ofThisFile(openInbox())
afterEach(() => world.clear())

/** What was counted of refused deliveries; the receiver writes it down when it closes. */
async function refusals(receiver: { close(): Promise<void> }): Promise<Record<string, number>> {
  await receiver.close()
  const rows = await world.ferry.ledger.db.selectFrom('webhook_refusal').select(['reason', 'refused']).execute()
  return Object.fromEntries(rows.map(({ reason, refused }) => [reason, refused]))
}

/** Waits until a connection is closed. A reset closes it too: what we sent may not have been read by then. */
const closed = async (socket: Socket) => await new Promise((resolve) => socket.once('close', resolve))

/** Sends bytes as they are, and reads all that comes back until the connection ends, in whichever way it does. */
async function raw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  let answer = ''
  socket.setEncoding('latin1').on('data', (part: string) => {
    answer += part
  })
  socket.write(bytes, 'latin1')
  await closed(socket)
  return answer
}

function signedLines(event: Written, by = secret): string[] {
  const at = String(Math.floor(Date.now() / 1000))
  const key = Buffer.from(by.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${event.id}.${at}.${event.body}`).digest('base64')
  return [`webhook-id: ${event.id}`, `webhook-timestamp: ${at}`, `webhook-signature: v1,${signature}`]
}

const request = (lines: readonly string[], body: string) =>
  ['POST /webhooks HTTP/1.1', 'host: x', 'connection: close', ...lines, '', body].join('\r\n')

describe('a delivery', () => {
  it.each([
    [-299, 204],
    [299, 204],
    [-300, 204],
    [300, 204],
    [-301, 400],
    [301, 400],
  ])('a delivery whose timestamp is %i seconds off is answered with %i', async (aheadSeconds, status) => {
    const now = Date.now()
    const { url } = await world.listen({}, () => now)
    expect(await deliver(url, testEvent(), { aheadSeconds, now })).toBe(status)
    expect(await world.stored()).toHaveLength(status === 204 ? 1 : 0)
  })

  it.each([
    ['forged with another secret', { secret: otherSecret }, 'signature_mismatch'],
    ['altered by a byte', { body: `${testEvent().body} ` }, 'signature_mismatch'],
    ['signed with a later version', { headers: { 'webhook-signature': `v2,${'A'.repeat(43)}=` } }, 'no_v1_signature'],
    ['with letters in its timestamp', { headers: { 'webhook-timestamp': '123.evil' } }, 'timestamp_malformed'],
    ['with an empty id', { headers: { 'webhook-id': '' } }, 'id_malformed'],
  ])('a delivery that is %s is refused without a word, and counted', async (_, how, reason) => {
    const receiver = await world.listen()
    expect(await deliver(receiver.url, testEvent(), how)).toBe(400)
    expect(await world.stored()).toEqual([])
    expect(await refusals(receiver)).toEqual({ [reason]: 1 })
  })

  it('a delivery is what its signature says, whatever its content type', async () => {
    const { url } = await world.listen()
    expect(await deliver(url, testEvent(), { headers: { 'content-type': 'text/html; charset=utf-16' } })).toBe(204)
    expect(await world.done(1)).toMatchObject([{ effect: 'test' }])
  })

  it('a delivery is taken if any of several secrets signed it, and any of several signatures is right', async () => {
    const { url } = await world.listen({ secrets: [otherSecret, secret] })
    expect(await deliver(url, testEvent(), { secret })).toBe(204)
    expect(await deliver(url, testEvent(), { secret: otherSecret })).toBe(204)
    const event = testEvent()
    const [id = '', at = '', signature = ''] = signedLines(event)
    const two = signature.replace(': ', `: v1,${'A'.repeat(43)}= v1a,xyz `)
    const lines = [id, at, two, `content-length: ${event.body.length}`]
    expect(await raw(url, request(lines, event.body))).toContain(' 204 ')
    expect(await world.done(3)).toHaveLength(3)
  })

  it('signed with the secret before a rotation is refused once that is taken out', async () => {
    const both = await world.listen({ secrets: [otherSecret, secret] })
    expect(await deliver(both.url, testEvent())).toBe(204)
    await both.close()
    const rotated = await world.listen({ secrets: [otherSecret] })
    expect(await deliver(rotated.url, testEvent())).toBe(400)
    expect(await deliver(rotated.url, testEvent(), { secret: otherSecret })).toBe(204)
  })

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'a delivery with %s twice is refused',
    async (name) => {
      const { url } = await world.listen()
      const event = testEvent()
      const lines = [...signedLines(event), `content-length: ${event.body.length}`]
      const doubled = lines.find((line) => line.startsWith(name)) ?? ''
      expect(await raw(url, request([...lines, doubled], event.body))).toContain(' 400 ')
      expect(await raw(url, request(lines, event.body))).toContain(' 204 ')
      expect(await world.done(1)).toHaveLength(1)
    },
  )

  it('needs the custom header where one is configured', async () => {
    const { url } = await world.listen({ headerName: 'X-Hotel', headerValue: 'a value, with a comma' })
    expect(await deliver(url, testEvent())).toBe(400)
    expect(await deliver(url, testEvent(), { headers: { 'x-hotel': 'a value, with a comm' } })).toBe(400)
    expect(await deliver(url, testEvent(), { headers: { 'x-hotel': 'a value, with a comma' } })).toBe(204)
  })

  it.each([
    ['Hôtel', 'UTF-8', Buffer.from('Hôtel'), 204],
    ['Hôtel', 'Latin-1', Buffer.from('Hôtel', 'latin1'), 204],
    ['Hôtel', 'UTF-8 written twice', Buffer.from(Buffer.from('Hôtel').toString('latin1')), 400],
    ['ホテル', 'UTF-8', Buffer.from('ホテル'), 204],
    ['ホテル', 'Latin-1, which has none of its characters', Buffer.from('ホテル', 'latin1'), 400],
  ])('a custom header beyond ASCII is judged by its bytes: %s in %s', async (headerValue, _title, sent, status) => {
    const { url } = await world.listen({ headerName: 'X-Hotel', headerValue })
    const event = testEvent()
    const header = `x-hotel: ${sent.toString('latin1')}`
    const lines = [...signedLines(event), `content-length: ${event.body.length}`, header]
    expect(await raw(url, request(lines, event.body))).toContain(` ${status} `)
  })

  it.each([
    ['GET', '/webhooks'],
    ['PUT', '/webhooks'],
    ['POST', '/'],
    ['POST', '/webhooks/'],
    ['POST', '/webhooks?x=1'],
    ['POST', '/WEBHOOKS'],
  ])('a delivery is not taken by %s %s', async (method, path) => {
    const { url } = await world.listen()
    expect(await deliver(url, testEvent(), { method, path })).toBe(404)
    expect(await world.stored()).toEqual([])
  })
})

describe('a body', () => {
  const large = (bytes: number): Written => ({ id: randomUUID(), body: 'x'.repeat(bytes) })

  it('a body of 64 KiB is taken, and one of a byte more is not', async () => {
    const { url } = await world.listen()
    expect(await deliver(url, large(65_536))).toBe(204)
    expect(await deliver(url, large(65_537))).toBe(400)
    expect(await world.done(1)).toMatchObject([{ effect: 'unreadable' }])
  })

  it('a body that announces a gigabyte is refused before any of it is sent', async () => {
    const { url } = await world.listen()
    expect(await raw(url, request([...signedLines(testEvent()), 'content-length: 1073741824'], ''))).toContain(' 400 ')
  })

  it('a body in chunks without an end is refused once it is too large', async () => {
    const { url } = await world.listen()
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    const lines = [...signedLines(testEvent()), 'transfer-encoding: chunked']
    expect(await raw(url, `${request(lines, '')}${chunk.repeat(5)}`)).toContain(' 400 ')
  })

  it('a body that ends before its time is not taken', async () => {
    const receiver = await world.listen()
    const event = testEvent()
    const { hostname, port } = new URL(receiver.url)
    const socket = connect(Number(port), hostname)
    socket.end(request([...signedLines(event), `content-length: ${event.body.length + 1}`], event.body))
    await closed(socket.resume())
    expect(await world.stored()).toEqual([])
    expect(await refusals(receiver)).toEqual({ body_too_large_or_cut: 1 })
  })

  it('a body of no text at all, with a good signature, is kept as unreadable', async () => {
    const { url } = await world.listen()
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x80])
    const at = String(Math.floor(Date.now() / 1000))
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const signature = createHmac('sha256', key).update(`bytes.${at}.`).update(bytes).digest('base64')
    const headers = { 'webhook-id': 'bytes', 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
    const { status } = await fetch(`${url}/webhooks`, { method: 'POST', headers, body: bytes })
    expect(status).toBe(204)
    expect(await world.done(1)).toMatchObject([{ event_id: 'bytes', effect: 'unreadable' }])
  })
})

describe('garbage', () => {
  it.each(['\0\0\0\0', 'GET\r\n\r\n', 'POST /webhooks HTTP/1.1\r\nno colon\r\n\r\n', `x: ${'y'.repeat(20_000)}`])(
    'garbage in place of HTTP gets no answer (%#)',
    async (bytes) => {
      const { url } = await world.listen()
      expect(await raw(url, `${bytes}\r\n\r\n`)).toBe('')
      expect(await deliver(url, testEvent())).toBe(204)
    },
  )
})

describe('while the database does not store', () => {
  it('an event is answered with 503, never 2xx, and taken when it comes again', async () => {
    const receiver = await world.listen()
    const { pool } = world.ferry.ledger
    await pool.query('alter table webhook_event rename to webhook_event_away')
    const correlationId = randomUUID()
    const event = bulkEvent(correlationId)
    try {
      for (let attempt = 0; attempt < 3; attempt++) expect(await deliver(receiver.url, event)).toBe(503)
    } finally {
      await pool.query('alter table webhook_event_away rename to webhook_event')
    }
    const id = await world.submission('accepted', correlationId)
    expect(await deliver(receiver.url, event)).toBe(204)
    expect(await world.done(1)).toMatchObject([{ effect: 'look', submission_id: id, deliveries: 1 }])
    expect(await refusals(receiver)).toEqual({ not_stored: 3 })
  })

  it('events are answered with 503 while the database lets nobody in, until it does again', async () => {
    const { url } = await world.listen()
    expect(await deliver(url, testEvent())).toBe(204)
    const { ledger } = world.ferry
    const name = new URL(ledger.url).pathname.slice(1)
    const admin = new pg.Client({ connectionString: ledger.url.replace(`/${name}`, '/postgres') })
    await admin.connect()
    try {
      await admin.query(`alter database ${pg.escapeIdentifier(name)} allow_connections false`)
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'nightferry webhooks'`,
        [name],
      )
      for (let attempt = 0; attempt < 3; attempt++) expect(await deliver(url, testEvent())).toBe(503)
    } finally {
      await admin.query(`alter database ${pg.escapeIdentifier(name)} allow_connections true`)
      await admin.end()
    }
    await expect.poll(() => deliver(url, testEvent()), { timeout: 60_000 }).toBe(204)
  })

  it('an event is answered with 503 before the service gives up, while the database hangs', async () => {
    const { url } = await world.listen()
    // More than the statements under way take: none waits for those before it to be given up.
    const deliverMany = () => Promise.all(Array.from({ length: 45 }, () => deliver(url, testEvent())))
    // What so many deliveries take by themselves is the machine's doing.
    const began = performance.now()
    expect(new Set(await deliverMany())).toEqual(new Set([204]))
    const usualMs = performance.now() - began
    const client = await world.ferry.ledger.pool.connect()
    await client.query('begin; lock table webhook_event in access exclusive mode')
    try {
      const answers = deliverMany()
      expect(await inTime(10_000 + 3 * usualMs, answers)).toBe(true)
      expect(new Set(await answers)).toEqual(new Set([503]))
    } finally {
      await client.query('rollback')
      client.release()
    }
    expect(await deliver(url, testEvent())).toBe(204)
  })
})

it('R16: 400 clients that send nothing, or half a header, are gone 2 s after the time for headers, and deliveries are answered meanwhile', async () => {
  const headersTimeoutMs = 1_000
  const { url } = await world.listen({ headersTimeoutMs })
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: 400 }, (_, place) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    if (place % 2 === 0) socket.write('POST /webhooks HTTP/1.1\r\nwebhook-id: x')
    return socket.resume()
  })
  const gone = inTime(headersTimeoutMs + 2_000, Promise.all(sockets.map(closed)))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  expect(await deliver(url, testEvent())).toBe(204)
  expect(await gone).toBe(true)
  expect(await deliver(url, testEvent())).toBe(204)
})

it('a client that sends a byte of its body now and then is cut off', async () => {
  const headersTimeoutMs = 500
  const { url } = await world.listen({ headersTimeoutMs })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.write(request([...signedLines(testEvent()), 'content-length: 60000'], ''))
  const dripping = setInterval(() => socket.write('x'), 50)
  expect(await inTime(2 * headersTimeoutMs + 2_000, closed(socket.resume()))).toBe(true)
  clearInterval(dripping)
})

it('more connections than are allowed are closed, and those that are allowed are served', async () => {
  const { url } = await world.listen({ maxConnections: 8, headersTimeoutMs: 60_000 })
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: 20 }, () =>
    connect(Number(port), hostname)
      .on('error', () => {})
      .resume(),
  )
  const ends = sockets.map(closed)
  await expect.poll(() => sockets.filter(({ closed }) => closed).length, { timeout: 60_000 }).toBe(12)
  for (const socket of sockets) socket.destroy()
  await Promise.all(ends)
  await expect.poll(() => deliver(url, testEvent()).catch(() => 0), { timeout: 60_000 }).toBe(204)
})

it.each([
  ['say nothing', ''],
  ['were answered', 'GET /elsewhere HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['were answered a request with a body', 'GET /elsewhere HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx'],
])('clients that stay and %s keep no delivery out, however few connections are let in', async (_, text) => {
  const { url } = await world.listen({ maxConnections: 8, headersTimeoutMs: 60_000 })
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: 8 }, () => connect(Number(port), hostname).on('error', () => {}))
  await Promise.all(
    sockets.map(async (socket) => {
      await once(socket, 'connect')
      if (text === '') return
      const answered = once(socket, 'data')
      socket.write(text)
      await answered
    }),
  )
  expect(await deliver(url, testEvent())).toBe(204)
  for (const socket of sockets) socket.destroy()
})

it('a delivery that is being stored keeps its connection, however many clients come after it', async () => {
  const { url } = await world.listen({ maxConnections: 8, headersTimeoutMs: 60_000 })
  const { hostname, port } = new URL(url)
  const { pool } = world.ferry.ledger
  const locker = await pool.connect()
  try {
    await locker.query('begin; lock table webhook_event in access exclusive mode')
    const answer = deliver(url, testEvent())
    const waits = `select from pg_locks join pg_database on oid = database
      where datname = current_database() and not granted`
    await expect.poll(async () => (await pool.query(waits)).rowCount, { timeout: 60_000 }).toBeGreaterThan(0)
    const sockets = Array.from({ length: 20 }, () =>
      connect(Number(port), hostname)
        .on('error', () => {})
        .resume(),
    )
    await expect.poll(() => sockets.filter((socket) => socket.closed).length, { timeout: 60_000 }).toBe(13)
    await locker.query('commit')
    expect(await answer).toBe(204)
    for (const socket of sockets) socket.destroy()
  } finally {
    locker.release()
  }
})

describe('settings', () => {
  const check = (webhooks: object) => () => checkWebhookSettings(settings.parse({ webhooks }).webhooks, contract)

  it.each([
    ['without its prefix', secret.slice(6), 'does not begin with whsec_'],
    ['of 15 bytes', `whsec_${Buffer.alloc(15, 1).toString('base64')}`, 'fewer than 16 bytes'],
    ['that is no base64', 'whsec_%%%%', 'is not base64'],
  ])('a secret %s is refused by the settings, which do not repeat it', (_, wrong, words) => {
    expect(check({ secrets: [secret, wrong] })).toThrow(words)
    expect(check({ secrets: [secret, wrong] })).not.toThrow(wrong.slice(-8))
  })

  it.each([
    [{ secrets: [secret], headerName: 'x' }, 'webhooks.headerValue'],
    [{ secrets: [secret], headerValue: 'x' }, 'webhooks.headerName'],
    [{ secrets: [secret], headerName: 'Webhook-Id', headerValue: 'x' }, 'reserved'],
    [{ headerName: 'x-hotel', headerValue: 'x' }, 'names no secret'],
  ])('settings that do not go together are refused (%#)', (wrong, words) => {
    expect(check(wrong)).toThrow(words)
  })

  it('settings without a secret start no receiver, and with a good one are accepted', () => {
    expect(check({})).not.toThrow()
    expect(check({ secrets: [secret], headerName: 'x-hotel', headerValue: 'x' })).not.toThrow()
  })

  it('settings of a port that is taken are refused by name', async () => {
    const { url } = await world.listen()
    const { port } = new URL(url)
    await expect(world.listen({ port: Number(port) })).rejects.toMatchObject({ code: 'webhooks_cannot_listen' })
  })
})
