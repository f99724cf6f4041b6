import { afterEach, describe, expect, it } from 'vitest'
import type { Webhook } from '../../src/sandbox/webhooks/webhook-store.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { contract, openSandbox } from './open-sandbox.ts'
import { allTopics, testTopic } from './webhook-world.ts'

const sandbox = await ofThisFile(openSandbox({ webhookLookup: async () => [{ address: '93.184.215.14', family: 4 }] }))
afterEach(() => sandbox.pool.query('delete from sandbox.webhook'))

const settings = { url: 'https://partner.example/hook', topics: ['bulk.task.succeeded'] }

function create(changes: object = {}, key = 'demo-key') {
  return sandbox.call<Webhook & { secret: string; errorCode: string; message: string }>('POST', '/sandbox/webhooks', {
    key,
    body: { ...settings, ...changes },
  })
}

async function created(changes: object = {}, key = 'demo-key') {
  const answer = await create(changes, key)
  expect(answer.status).toBe(201)
  return answer.body
}

function list(key = 'demo-key') {
  return sandbox.call<Webhook[]>('GET', '/sandbox/webhooks', { key })
}

function patch(id: string, changes: object, key = 'demo-key') {
  return sandbox.call<Webhook & { errorCode: string }>('PATCH', `/sandbox/webhooks/${id}`, { key, body: changes })
}

function remove(id: string, key = 'demo-key') {
  return fetch(`${sandbox.url}/sandbox/webhooks/${id}`, { method: 'DELETE', headers: { authorization: key } })
}

describe('creation', () => {
  it('answers 201 with the webhook and its secret, which is 32 bytes behind whsec_', async () => {
    const webhook = await created({ header: { name: 'X-Hotel', value: 'canary-value' } })
    expect(webhook).toEqual({
      id: expect.any(String),
      ...settings,
      header: { name: 'X-Hotel' },
      enabled: true,
      createdAt: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
  })

  it('gives every webhook a secret of its own', async () => {
    expect((await created()).secret).not.toBe((await created()).secret)
  })

  it('can begin disabled', async () => {
    expect((await created({ enabled: false })).enabled).toBe(false)
  })

  it('takes each of the nine topics', async () => {
    expect(allTopics).toHaveLength(9)
    expect((await created({ topics: allTopics })).topics).toEqual(allTopics)
  })

  it('counts a topic that is named twice once', async () => {
    const topics = ['bulk.task.failed', 'bulk.task.succeeded', 'bulk.task.failed']
    expect((await created({ topics })).topics).toEqual(['bulk.task.failed', 'bulk.task.succeeded'])
  })

  it.each([
    ['no topic', { topics: [] }],
    ['topics missing', { topics: null }],
    ['the topic of the Test button', { topics: [testTopic] }],
    ['that topic beside a good one', { topics: ['bulk.task.failed', testTopic] }],
    ['an unknown topic', { topics: ['bulk.task.exploded'] }],
    ['a topic in another case', { topics: ['Bulk.Task.Failed'] }],
    ['no URL', { url: null }],
    ['two headers', { header: [{ name: 'a', value: 'b' }] }],
    ['a header without a value', { header: { name: 'x-a' } }],
    ['a member that does not exist', { sceret: 'whsec_AAAA' }],
  ])('answers 400 to %s, and creates nothing', async (_what, changes) => {
    expect((await create(changes)).status).toBe(400)
    expect((await list()).body).toEqual([])
  })

  it('needs a key, and an unknown one is 401', async () => {
    for (const key of [null, 'nonsense']) {
      const answer = await sandbox.call('POST', '/sandbox/webhooks', { key, body: settings })
      expect(answer.status).toBe(401)
    }
  })
})

describe('the custom header', () => {
  it('a custom header of another name is taken, whatever the name means to the receiver', async () => {
    for (const name of ['X-Api-Key', 'Authorization', 'user-agent', 'x_y.z!']) {
      const webhook = await created({ header: { name, value: 'Bearer a b' } })
      expect(webhook.header).toEqual({ name })
      expect((await remove(webhook.id)).status).toBe(204)
    }
  })

  it.each([
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
    'Webhook-Signature',
    'Host',
    'content-length',
    'Content-Type',
    'content-encoding',
    'connection',
    'transfer-encoding',
    'TE',
    'trailer',
    'upgrade',
    'expect',
    'keep-alive',
    'proxy-connection',
    'proxy-authorization',
    '',
    'two words',
    'colon:',
    'line\r\nbreak',
    'umlaut-ä',
    `x-${'a'.repeat(127)}`,
  ])('may not be called %j', async (name) => {
    const answer = await create({ header: { name, value: 'canary-value' } })
    expect([answer.status, answer.body.errorCode]).toEqual([400, 'webhook_header_refused'])
    expect(answer.body.message).not.toContain('canary-value')
  })

  it.each(['', ' ', ' a', 'a ', 'a\r\nx-injected: 1', 'a\nb', 'a\rb', 'a\0b', 'a\x7fb', 'ä', 'a'.repeat(4097)])(
    'may not have the value %j',
    async (value) => {
      const answer = await create({ header: { name: 'x-a', value } })
      expect([answer.status, answer.body.errorCode]).toEqual([400, 'webhook_header_refused'])
    },
  )

  it('the custom header is judged on a change as at creation', async () => {
    const { id } = await created()
    expect((await patch(id, { header: { name: 'webhook-id', value: 'x' } })).status).toBe(400)
    expect((await patch(id, { header: { name: 'x-b', value: 'x' } })).body.header).toEqual({ name: 'x-b' })
    expect((await patch(id, { header: null })).body.header).toBeNull()
  })
})

describe('what is secret', () => {
  it('stands in no answer but those of creation and rotation, and a header value in none', async () => {
    const { id, secret } = await created({ header: { name: 'x-a', value: 'canary-value' } })
    const rotated = await sandbox.call<{ secret: string }>('POST', `/sandbox/webhooks/${id}/rotate-secret`)
    expect(rotated.status).toBe(200)
    expect(rotated.body).toEqual({ secret: expect.stringMatching(/^whsec_/) })
    expect(rotated.body.secret).not.toBe(secret)
    await sandbox.call('POST', `/sandbox/webhooks/${id}/test`)
    const answers = [
      await list(),
      await sandbox.call('GET', `/sandbox/webhooks/${id}`),
      await patch(id, { enabled: false }),
      await sandbox.call('GET', `/sandbox/webhooks/${id}/deliveries`),
    ]
    for (const answer of some(answers)) {
      expect(answer.status).toBe(200)
      expect(JSON.stringify(answer.body)).not.toMatch(/whsec_|canary-value/)
      expect(JSON.stringify(answer.body)).not.toContain(secret.slice(6))
    }
  })

  it('does not stand in the request log', async () => {
    await created({ header: { name: 'x-a', value: 'canary-value' } })
    const { rows } = await sandbox.pool.query('select log::text as line from sandbox.request_log log')
    expect(rows.length).toBeGreaterThan(0)
    for (const { line } of some(rows)) expect(line).not.toMatch(/whsec_|canary-value/)
  })
})

describe('the number of webhooks', () => {
  it('the number of webhooks is five at most, and deleting one makes room', async () => {
    const first = await created()
    for (let i = 2; i <= 5; i += 1) await created()
    const sixth = await create()
    expect([sixth.status, sixth.body.errorCode]).toEqual([409, 'webhook_limit_reached'])
    expect((await remove(first.id)).status).toBe(204)
    await created()
    expect((await list()).body).toHaveLength(5)
  })

  it('the number of webhooks is five after ten creations at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => create()))
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([
      ...Array(5).fill(201),
      ...Array(5).fill(409),
    ])
    expect((await list()).body).toHaveLength(5)
  })

  it('the number of webhooks is counted per profile, and the keys of one profile share it', async () => {
    for (let i = 1; i <= 5; i += 1) await created()
    expect((await create({}, 'sibling-key')).status).toBe(409)
    expect((await create({}, 'other-key')).status).toBe(201)
  })
})

describe('a webhook', () => {
  it('a webhook is seen, changed and deleted by its own profile only', async () => {
    const { id } = await created()
    expect((await list('other-key')).body).toEqual([])
    expect((await list('sibling-key')).body.map((webhook) => webhook.id)).toEqual([id])
    expect((await remove(id, 'other-key')).status).toBe(404)
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { enabled: false }],
      ['POST', '/rotate-secret', undefined],
      ['POST', '/test', undefined],
      ['GET', '/deliveries', undefined],
      ['POST', `/deliveries/${id}/resend`, undefined],
    ] as const) {
      for (const [wanted, key] of [
        [id, 'other-key'],
        ['00000000-0000-4000-8000-000000000000', 'demo-key'],
        ['nonsense', 'demo-key'],
      ] as const) {
        const answer = await sandbox.call(method, `/sandbox/webhooks/${wanted}${path}`, {
          key,
          ...(body && { body }),
        })
        expect([answer.status, answer.body.errorCode]).toEqual([404, 'webhook_not_found'])
      }
    }
    expect((await list()).body[0]?.enabled).toBe(true)
  })

  it('keeps what a change does not name, through disabling and enabling too', async () => {
    const { id, createdAt } = await created({ header: { name: 'x-a', value: 'canary-value' } })
    expect((await patch(id, { enabled: false })).body.enabled).toBe(false)
    expect((await patch(id, { enabled: true })).body).toEqual({
      id,
      ...settings,
      header: { name: 'x-a' },
      enabled: true,
      createdAt,
    })
    const { rows } = await sandbox.pool.query('select header_value from sandbox.webhook')
    expect(rows).toEqual([{ header_value: 'canary-value' }])
  })

  it('takes another URL and other topics, and keeps the old ones when they are refused', async () => {
    const { id } = await created()
    const changed = await patch(id, { url: 'https://other.example/x', topics: ['bulk.task.failed'] })
    expect(changed.body).toMatchObject({ url: 'https://other.example/x', topics: ['bulk.task.failed'] })
    for (const changes of [
      { url: 'http://other.example/' },
      { topics: [] },
      { topics: [contract.webhookTopics.test] },
    ]) {
      expect((await patch(id, changes)).status).toBe(400)
    }
    expect((await sandbox.call<Webhook>('GET', `/sandbox/webhooks/${id}`)).body).toEqual(changed.body)
  })

  it('a webhook is gone when it is deleted, with its log', async () => {
    const { id } = await created()
    await sandbox.call('POST', `/sandbox/webhooks/${id}/test`)
    const answer = await remove(id)
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    expect((await remove(id)).status).toBe(404)
    const { rows } = await sandbox.pool.query('select 1 from sandbox.webhook_delivery')
    expect(rows).toEqual([])
  })

  it('survives a restart', async () => {
    const { id } = await created()
    await sandbox.stop()
    await sandbox.start()
    expect((await list()).body.map((webhook) => webhook.id)).toEqual([id])
  })
})

describe('the delivery log', () => {
  it.each(['limit=0', 'limit=x', 'limit=10001', 'limit=-1', 'before=x'])('answers 400 to %s', async (query) => {
    const { id } = await created()
    const answer = await sandbox.call('GET', `/sandbox/webhooks/${id}/deliveries?${query}`)
    expect([answer.status, answer.body.errorCode]).toEqual([400, 'query_invalid'])
  })
})
