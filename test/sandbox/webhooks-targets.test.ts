import { createServer as createSecureServer } from 'node:https'
import { createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { LoggedDelivery } from '../../src/sandbox/webhooks/delivery-log.ts'
import {
  judgedAddresses,
  judgeTarget,
  judgeUrl,
  pinnedLookup,
  type TargetAddress,
  TargetRefused,
} from '../../src/sandbox/webhooks/judge-target.ts'
import type { Webhook } from '../../src/sandbox/webhooks/webhook-store.ts'
import { authority, elsewhere, expired, type Identity, selfSigned, valid } from '../exchange/certificates.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { openSandbox } from './open-sandbox.ts'
import { openWebhookWorld } from './webhook-world.ts'

/** What a resolver says of a host name; a test changes it to make the name lead elsewhere. */
const names = new Map<string, string[]>()
const publicAddress = '93.184.215.14'

async function lookup(host: string): Promise<TargetAddress[]> {
  const addresses = names.get(host)
  if (!addresses) throw Object.assign(new Error(`no such host ${host}`), { code: 'ENOTFOUND' })
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

const sandbox = await ofThisFile(openSandbox({ webhookLookup: lookup }))
afterEach(async () => {
  names.clear()
  await sandbox.pool.query('delete from sandbox.webhook')
})

function create(url: string) {
  return sandbox.call<Webhook & { errorCode: string; message: string }>('POST', '/sandbox/webhooks', {
    body: { url, topics: ['bulk.task.succeeded'] },
  })
}

async function refuses(url: string): Promise<string> {
  const answer = await create(url)
  expect([answer.status, answer.body.errorCode]).toEqual([400, 'webhook_url_refused'])
  return answer.body.message
}

describe('a URL with an IP literal', () => {
  it.each([
    ['loopback', 'https://127.0.0.1/'],
    ['loopback', 'https://127.255.255.254/'],
    ['loopback in short', 'https://127.1/'],
    ['loopback as a number', 'https://2130706433/'],
    ['loopback in hexadecimal', 'https://0x7f000001/'],
    ['loopback in mixed bases', 'https://0x7f.1/'],
    ['loopback in octal', 'https://0177.0.0.1/'],
    ['loopback with a dot behind it', 'https://127.0.0.1./'],
    ['loopback in full-width digits', 'https://１２７.0.0.1/'],
    ['loopback with escaped digits', 'https://%31%32%37.0.0.1/'],
    ['loopback of IPv6', 'https://[::1]/'],
    ['loopback of IPv6 in full', 'https://[0:0:0:0:0:0:0:1]/'],
    ['loopback compatible with IPv4', 'https://[::127.0.0.1]/'],
    ['loopback mapped to IPv6', 'https://[::ffff:127.0.0.1]/'],
    ['loopback mapped, in hexadecimal', 'https://[::FFFF:7F00:1]/'],
    ['loopback translated', 'https://[64:ff9b::127.0.0.1]/'],
    ['loopback by 6to4', 'https://[2002:7f00:1::]/'],
    ['a private network of class A', 'https://10.0.0.1/'],
    ['a private network of class B', 'https://172.16.0.1/'],
    ['a private network of class C', 'https://192.168.1.1/'],
    ['a private network mapped to IPv6', 'https://[::ffff:192.168.1.1]/'],
    ['a private network translated', 'https://[64:ff9b::10.0.0.1]/'],
    ['a unique local address', 'https://[fd00::1]/'],
    ['a site-local address', 'https://[fec0::1]/'],
    ['carrier-grade translation', 'https://100.64.0.1/'],
    ['link-local', 'https://169.254.1.1/'],
    ['the metadata of a cloud', 'https://169.254.169.254/latest/meta-data/'],
    ['the metadata mapped to IPv6', 'https://[::ffff:a9fe:a9fe]/'],
    ['the metadata translated', 'https://[64:ff9b::a9fe:a9fe]/'],
    ['link-local of IPv6', 'https://[fe80::1]/'],
    ['this host', 'https://0.0.0.0/'],
    ['this host in short', 'https://0/'],
    ['this host of IPv6', 'https://[::]/'],
    ['documentation', 'https://192.0.2.1/'],
    ['documentation of IPv6', 'https://[2001:db8::1]/'],
    ['benchmarking', 'https://198.18.0.1/'],
    ['multicast', 'https://224.0.0.1/'],
    ['multicast of IPv6', 'https://[ff02::1]/'],
    ['broadcast', 'https://255.255.255.255/'],
    ['reserved', 'https://240.0.0.1/'],
    ['a translator that leads anywhere', 'https://[64:ff9b:1::1]/'],
    ['a public address behind a translator', 'https://[64:ff9b::8.8.8.8]/'],
    ['Teredo', 'https://[2001::1]/'],
    ['unallocated IPv6', 'https://[4000::1]/'],
  ])('a URL with an IP literal that is %s is refused: %s', async (_what, url) => {
    await refuses(url)
  })

  it.each([`https://${publicAddress}/hook`, 'https://[2606:4700::1111]/hook', `https://${publicAddress}:8443/hook`])(
    'a URL with an IP literal that is public is taken: %s',
    async (url) => {
      expect(await create(url)).toMatchObject({ status: 201, body: { url } })
    },
  )
})

describe('a URL with a host name', () => {
  it.each([
    ['loopback', ['127.0.0.1']],
    ['loopback of IPv6', ['::1']],
    ['loopback mapped to IPv6', ['::ffff:127.0.0.1']],
    ['loopback translated', ['64:ff9b::7f00:1']],
    ['a private network', ['192.168.0.10']],
    ['link-local with a zone', ['fe80::1%eth0']],
    ['the metadata of a cloud', ['169.254.169.254']],
    ['a public address and a private one behind it', [publicAddress, '2606:4700::1111', '10.0.0.1']],
    ['a private address and a public one behind it', ['10.0.0.1', publicAddress]],
    ['no address at all', []],
  ])('a URL with a host name that resolves to %s is refused', async (_what, addresses) => {
    names.set('partner.example', addresses)
    const message = await refuses('https://partner.example/hook')
    for (const address of addresses) expect(message).not.toContain(address)
  })

  it('a URL with a host name that cannot be resolved is refused', async () => {
    expect(await refuses('https://nowhere.example/')).toContain('ENOTFOUND')
  })

  it('a URL with a host name that resolves to public addresses only is taken', async () => {
    names.set('partner.example', [publicAddress, '2606:4700::1111'])
    expect((await create('https://partner.example/hook')).status).toBe(201)
  })

  it('localhost is refused by what the resolver of this machine says of it', async () => {
    await using own = new AsyncDisposableStack()
    const other = await openSandbox()
    own.defer(() => other.close())
    const answer = await other.call('POST', '/sandbox/webhooks', {
      body: { url: 'https://localhost/', topics: ['bulk.task.failed'] },
    })
    expect([answer.status, answer.body.errorCode]).toEqual([400, 'webhook_url_refused'])
  })

  it('a URL with a host name is judged on a change as at creation', async () => {
    names.set('partner.example', [publicAddress])
    names.set('inside.example', ['10.0.0.1'])
    const { body } = await create('https://partner.example/hook')
    const change = await sandbox.call('PATCH', `/sandbox/webhooks/${body.id}`, {
      body: { url: 'https://inside.example/' },
    })
    expect([change.status, change.body.errorCode]).toEqual([400, 'webhook_url_refused'])
  })
})

describe('the spelling of a URL', () => {
  it.each([
    'http://partner.example/hook',
    'HTTP://partner.example/hook',
    'ftp://partner.example/',
    'ws://partner.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user@partner.example/',
    'https://user:canary@partner.example/',
    'https://:canary@partner.example/',
    'https://',
    'https://256.256.256.256/',
    'https://partner example/',
    '/hook',
    '//partner.example/hook',
    'partner.example/hook',
    '',
  ])('%j is refused', async (url) => {
    names.set('partner.example', [publicAddress])
    const answer = await create(url)
    expect(answer.status).toBe(400)
    expect(answer.body.message).not.toContain('canary')
  })

  it('a URL of 2048 characters is taken and one of 2049 refused, counted as it was sent', async () => {
    names.set('partner.example', [publicAddress])
    const base = 'https://partner.example/'
    const longest = base + 'a'.repeat(2048 - base.length)
    expect(await create(longest)).toMatchObject({ status: 201, body: { url: longest } })
    expect((await create(`${longest}a`)).status).toBe(400)
    const escaped = `${longest.slice(0, -1)}ä`
    expect(await create(escaped)).toMatchObject({ status: 201, body: { url: new URL(escaped).href } })
  })
})

describe('with --allow-insecure-webhooks', () => {
  it.each(['http://127.0.0.1:9/', 'http://10.0.0.1/', 'https://[::1]/', 'http://unresolved.example/'])(
    '%s is taken',
    (url) => {
      expect(judgeUrl(url, true).href).toBe(url)
    },
  )

  it.each([
    'https://user:secret@partner.example/',
    'ftp://127.0.0.1/',
    `http://127.0.0.1/${'a'.repeat(2048)}`,
    'nonsense',
  ])('%s is refused all the same', async (url) => {
    await expect(judgeTarget(url, { lookup, allowInsecure: true })).rejects.toThrow(TargetRefused)
  })
})

describe('the connection', () => {
  it('gets only addresses that were judged, in either form in which Node asks for them', async () => {
    names.set('partner.example', [publicAddress, '2606:4700::1111'])
    const pinned = pinnedLookup({ lookup, allowInsecure: false })
    const ask = (options: { all: boolean }) =>
      new Promise((resolve) => pinned('partner.example', options, (...answer) => resolve(answer)))
    expect(await ask({ all: true })).toEqual([null, await lookup('partner.example')])
    expect(await ask({ all: false })).toEqual([null, publicAddress, 4])
    names.set('partner.example', [publicAddress, '127.0.0.1'])
    expect(await ask({ all: true })).toEqual([expect.any(TargetRefused), []])
  })

  it('a URL that was taken is delivered to, also where it is longer as it is spelt afterwards', async () => {
    names.set('partner.example', [publicAddress])
    const base = 'https://partner.example?t='
    const { status, body: webhook } = await create(base + 'x'.repeat(2048 - base.length))
    expect([status, webhook.url.length]).toEqual([201, 2049])
    names.set('partner.example', ['127.0.0.1'])
    expect((await pressTest(webhook.id)).attempts).toEqual([
      expect.objectContaining({ error: expect.stringContaining('loopback') }),
    ])
  })

  it('the connection is not made where a public name has come to lead inside between configuration and delivery', async () => {
    let connections = 0
    const inside = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    const { port } = inside.address() as { port: number }
    names.set('rebinding.example', [publicAddress])
    const { body: webhook } = await create(`https://rebinding.example:${port}/`)
    for (const addresses of [['127.0.0.1'], ['::ffff:127.0.0.1'], [publicAddress, '127.0.0.1']]) {
      names.set('rebinding.example', addresses)
      expect(await pressTest(webhook.id)).toEqual({
        status: 'failed',
        attempts: [expect.objectContaining({ httpStatus: null, error: expect.stringContaining('loopback') })],
      })
    }
    expect(connections).toBe(0)
    await new Promise((resolve) => inside.close(resolve))
  })

  it('the connection is not made to an IP literal that became forbidden, for which no resolver is asked', async () => {
    const { body: webhook } = await create(`https://${publicAddress}/`)
    await sandbox.pool.query("update sandbox.webhook set url = 'https://127.0.0.1:9/'")
    expect(await pressTest(webhook.id)).toMatchObject({
      status: 'failed',
      attempts: [{ httpStatus: null, error: expect.stringContaining('loopback') }],
    })
  })

  async function pressTest(id: string): Promise<{ status: string; attempts: unknown[] }> {
    const { body } = await sandbox.call<{ deliveryId: string }>('POST', `/sandbox/webhooks/${id}/test`)
    return vi.waitFor(async () => {
      const log = await sandbox.call<LoggedDelivery[]>('GET', `/sandbox/webhooks/${id}/deliveries`)
      const made = log.body.find((delivery) => delivery.id === body.deliveryId)
      if (!made || made.status === 'queued') throw new Error('not yet')
      return { status: made.status, attempts: made.attempts }
    }, patience)
  }

  it('resolves a name once per attempt, connects to what was judged, and names the host in its request', async () => {
    let asked = 0
    const world = await openWebhookWorld({
      webhookLookup: async (host) => {
        asked += 1
        expect(host).toBe('receiver.example')
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const { port } = new URL(world.receiver.url)
    const webhook = await world.subscribe()
    await world.change(webhook.id, { url: `http://receiver.example:${port}/hook` })
    await world.test(webhook.id)
    const [got] = await world.receiver.gets(1)
    expect(got?.headers.host).toBe(`receiver.example:${port}`)
    await world.logged(webhook.id, ([first]) => expect(first?.status).toBe('delivered'))
    expect(asked).toBe(1)
    await world.close()
  })

  it('does not follow a redirect to a private address', async () => {
    const world = await openWebhookWorld()
    const webhook = await world.subscribe()
    world.receiver.answer((response) => {
      response.writeHead(307, { location: `${world.receiver.url}/inside` }).end()
    })
    await world.test(webhook.id)
    const [first] = await world.logged(webhook.id, ([test]) => expect(test?.status).toBe('failed'))
    expect(first?.attempts).toEqual([expect.objectContaining({ httpStatus: 307 })])
    expect(world.receiver.received.map(({ path }) => path)).toEqual(['/hook'])
    await world.close()
  })
})

it('a name is refused for any one of its addresses, wherever it stands', async () => {
  for (const at of [0, 1, 2]) {
    const addresses = [publicAddress, '2606:4700::1111', '8.8.8.8']
    addresses[at] = '169.254.169.254'
    names.set('partner.example', addresses)
    await expect(judgedAddresses('partner.example', { lookup, allowInsecure: false })).rejects.toThrow(TargetRefused)
  }
})

describe('HTTPS', () => {
  const trusted = getCACertificates('default')
  beforeAll(() => setDefaultCACertificates([...trusted, authority]))
  afterAll(() => setDefaultCACertificates(trusted))

  it('HTTPS is verified: certificates that are expired, of another host or of no authority get nothing', async () => {
    const world = await openWebhookWorld()
    const webhook = await world.subscribe()
    const deliver = async (identity: Identity) => {
      let requests = 0
      const server = createSecureServer(identity, (_request, response) => {
        requests += 1
        response.writeHead(200).end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as { port: number }
      await world.change(webhook.id, { url: `https://127.0.0.1:${port}/` })
      const { deliveryId } = await world.test(webhook.id)
      const [made] = await world.logged(webhook.id, ([test]) => {
        expect(test?.id).toBe(deliveryId)
        expect(test?.status).not.toBe('queued')
      })
      await new Promise((resolve) => server.close(resolve))
      return [made?.status, made?.attempts[0]?.error?.split(':')[0], requests]
    }
    expect(await deliver(valid)).toEqual(['delivered', undefined, 1])
    expect(await deliver(expired)).toEqual(['failed', 'CERT_HAS_EXPIRED', 0])
    expect(await deliver(elsewhere)).toEqual(['failed', 'ERR_TLS_CERT_ALTNAME_INVALID', 0])
    expect(await deliver(selfSigned)).toEqual(['failed', 'DEPTH_ZERO_SELF_SIGNED_CERT', 0])
    await world.close()
  })
})
