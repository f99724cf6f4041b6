import { describe, expect, it } from 'vitest'
import { TransportError, UncertainSubmission } from '../../src/exchange/errors.ts'
import { connectProxy, withCredentials } from '../helpers/connect-proxy.ts'
import { authority, elsewhere, valid } from './certificates.ts'
import { httpServer, sendJson, tcpServer, unusedPort } from './fault-server.ts'
import { download, openSmall } from './small-download.ts'
import { apiKey, rejection, testClient } from './test-client.ts'

/** Nobody but the proxy knows where this is. */
const host = 'elsewhere.example'
const secret = 'pass/word#1'

/** A service at `host`, and a proxy that leads there. */
async function behindProxy(options: { lead?: (to: string) => { status: number } | null; credentials?: string } = {}) {
  await using made = new AsyncDisposableStack()
  const service = made.use(
    await httpServer((request, response) => {
      if (request.method === 'POST') sendJson(response, { correlationId: 'c1' })
      else sendJson(response, [])
    }, elsewhere),
  )
  const { lead = () => null, ...rest } = options
  const proxy = made.use(await connectProxy({ lead: (to) => lead(to) ?? { port: service.port }, ...rest }))
  const everything = made.move()
  return {
    service,
    proxy,
    url: `https://${host}:${service.port}`,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

describe('the client behind a proxy', () => {
  it('speaks TLS with the service through a tunnel by its name, and tells the service nothing of the proxy', async () => {
    await using world = await behindProxy({ credentials: `user:${secret}` })
    const proxy = withCredentials(world.proxy.url, `user:${secret}`)
    await using client = testClient(world.url, { proxy, ca: authority })
    expect(await client.getUnitTypes()).toEqual([])
    const [seen] = world.service.seen
    expect(seen?.headers).toMatchObject({ authorization: apiKey, host: `${host}:${world.service.port}` })
    expect(Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith('proxy'))).toEqual([])
    expect(world.proxy.asked).toEqual([[`${host}:${world.service.port}`, 200]])
  })

  it('keeps the tunnel of reads, and has one of its own for each write', async () => {
    await using world = await behindProxy()
    await using client = testClient(world.url, { proxy: world.proxy.url, ca: authority })
    for (let read = 0; read < 6; read++) await client.getUnitTypes()
    const ofReads = world.proxy.asked.length
    // One that has just been used may not be free yet.
    expect(ofReads).toBeLessThanOrEqual(2)
    await client.submit('companyMappings', '{}')
    await client.submit('companyMappings', '{}')
    expect(world.proxy.asked).toHaveLength(ofReads + 2)
  })

  it('trusts no certificate of another host at the end of the tunnel', async () => {
    await using world = await behindProxy()
    await using client = testClient(`https://other.example:${world.service.port}`, {
      proxy: world.proxy.url,
      ca: authority,
    })
    const error = await rejection(client.submit('companyMappings', '{}'))
    expect(error).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
    expect(error.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
    expect(world.service.seen).toEqual([])
  })

  it('reaches the service through a proxy that speaks TLS itself', async () => {
    await using service = await httpServer((_, response) => sendJson(response, []), elsewhere)
    await using proxy = await connectProxy({ lead: () => service, identity: valid })
    await using client = testClient(`https://${host}`, { proxy: proxy.url, ca: authority })
    expect(await client.getUnitTypes()).toEqual([])
    expect(proxy.asked).toEqual([[`${host}:443`, 200]])
  })

  it('calls a service on this machine directly', async () => {
    await using server = await httpServer((_, response) => sendJson(response, []), valid)
    await using client = testClient(server.url, {
      proxy: `http://127.0.0.1:${await unusedPort()}`,
      ca: authority,
    })
    expect(await client.getUnitTypes()).toEqual([])
  })

  it.each([
    ['without a password', null, undefined, 'wants a user and a password (407): write them into exchange.proxy'],
    ['with a wrong password', `user:${secret}`, undefined, 'does not accept the user and password in exchange.proxy'],
    ['that signs in otherwise', `user:${secret}`, ['Negotiate', 'NTLM'], 'Nightferry knows no other way'],
  ])('names the setting and not the password where a proxy %s answers 407', async (_, given, schemes, words) => {
    await using service = await httpServer((_request, response) => sendJson(response, []), elsewhere)
    await using proxy = await connectProxy({
      lead: () => service,
      credentials: 'user:another',
      ...(schemes !== undefined && { schemes }),
    })
    const address = given === null ? proxy.url : withCredentials(proxy.url, given)
    await using client = testClient(`https://${host}`, { proxy: address, ca: authority })
    const error = await rejection(client.submit('companyMappings', '{}'))
    expect(error).toBeInstanceOf(TransportError)
    expect(error).toMatchObject({ requestMayHaveArrived: false })
    expect(error.message).toContain('proxy_unauthorized')
    expect(error.message).toContain(words)
    for (const form of [secret, encodeURIComponent(secret)]) expect(error.message).not.toContain(form)
    expect(service.seen).toEqual([])
  })

  it('asks a proxy no second time that does not accept the password, and knows the one that is in its place by then', async () => {
    await using world = await behindProxy({ credentials: `user:${secret}` })
    let given = 'user:old'
    await using client = testClient(world.url, { proxy: () => withCredentials(world.proxy.url, given), ca: authority })
    expect(await rejection(client.getUnitTypes())).toMatchObject({ code: 'proxy_unauthorized' })
    expect(world.proxy.asked).toEqual([[`${host}:${world.service.port}`, 407]])
    given = `user:${secret}`
    expect(await client.getUnitTypes()).toEqual([])
  })

  it.each([
    ['refuses', 403],
    ['cannot reach the service', 502],
    ['redirects', 302],
  ])('knows that nothing was sent where the proxy %s', async (_, status) => {
    await using world = await behindProxy({ lead: () => ({ status }) })
    await using client = testClient(world.url, { proxy: world.proxy.url, ca: authority })
    const error = await rejection(client.submit('companyMappings', '{}'))
    expect(error).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
    expect(error.message).toContain(`it answers ${status}`)
  })

  it('knows that nothing was sent where the proxy is not there, hangs up, or never answers', async () => {
    await using hangsUp = await tcpServer((socket) => socket.once('data', () => socket.destroy()))
    await using silent = await tcpServer(() => {})
    for (const port of [await unusedPort(), hangsUp.port, silent.port]) {
      await using client = testClient(`https://${host}`, {
        proxy: `http://127.0.0.1:${port}`,
        ca: authority,
        connectTimeoutMs: 200,
      })
      const error = await rejection(client.submit('companyMappings', '{}'))
      expect(error).toMatchObject({ code: 'exchange_unreachable', requestMayHaveArrived: false })
      expect(error.message).toContain('proxy_unreachable')
    }
  })

  it('does not know whether a request arrived whose tunnel breaks after it was sent', async () => {
    let cut = () => {}
    await using service = await httpServer(() => cut(), elsewhere)
    await using proxy = await connectProxy({ lead: () => service })
    cut = () => proxy.cut()
    await using client = testClient(`https://${host}`, { proxy: proxy.url, ca: authority })
    expect(await rejection(client.submit('companyMappings', '{}'))).toBeInstanceOf(UncertainSubmission)
    expect(service.seen).toHaveLength(1)
  })
})

describe('a download behind a proxy', () => {
  const addressed = (...addresses: string[]) => ({
    baseUrl: 'https://exchange.example',
    ca: authority,
    lookup: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  })
  const unknown = async (name: string): Promise<never> => {
    throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND', syscall: 'getaddrinfo' })
  }

  it('asks for the address that was judged, and checks the certificate of the name', async () => {
    await using world = await behindProxy()
    const body = await download(`${world.url}/page`, { ...addressed('8.8.8.8'), proxy: world.proxy.url })
    expect(body.toString()).toBe('[]')
    expect(world.proxy.asked).toEqual([[`8.8.8.8:${world.service.port}`, 200]])
    expect(world.service.seen[0]?.headers.host).toBe(`${host}:${world.service.port}`)
    const other = `https://other.example:${world.service.port}/page`
    expect(await rejection(openSmall(other, { ...addressed('8.8.8.8'), proxy: world.proxy.url }))).toMatchObject({
      code: 'download_failed',
    })
  })

  it('tries the next address where the proxy refuses the first', async () => {
    await using world = await behindProxy({ lead: (to) => (to.startsWith('[') ? { status: 502 } : null) })
    const from = addressed('2606:4700::1111', '8.8.8.8')
    expect((await download(world.url, { ...from, proxy: world.proxy.url })).toString()).toBe('[]')
    expect(world.proxy.asked).toEqual([
      [`[2606:4700::1111]:${world.service.port}`, 502],
      [`8.8.8.8:${world.service.port}`, 200],
    ])
  })

  it.each([['10.0.0.1'], ['8.8.8.8', '169.254.169.254']])(
    'never asks for a host whose addresses include %s',
    async (...addresses) => {
      await using world = await behindProxy()
      const from = { ...addressed(...addresses), proxy: world.proxy.url, baseUrl: 'https://9.9.9.9' }
      expect(await rejection(openSmall(world.url, from))).toMatchObject({ code: 'download_refused' })
      for (const literal of ['https://10.0.0.1', 'https://[fd00::1]', 'https://127.0.0.1', 'https://localhost']) {
        expect(await rejection(openSmall(literal, { ...from, ...addressed('127.0.0.1') }))).toMatchObject({
          code: expect.stringMatching(/download_(refused|failed)/),
        })
      }
      expect(world.proxy.asked).toEqual([])
    },
  )

  it('leaves the name of the service and of an allowed host to the proxy, and looks neither up', async () => {
    await using world = await behindProxy()
    const from = { ca: authority, lookup: unknown, proxy: world.proxy.url }
    await download(`${world.url}/own`, { ...from, baseUrl: `https://${host}` })
    await download(`${world.url}/allowed`, { ...from, baseUrl: 'https://exchange.example', allowedHosts: [host] })
    const asked: [string, number] = [`${host}:${world.service.port}`, 200]
    expect(world.proxy.asked).toEqual([asked, asked])
  })

  it('says how a host is reached that this machine does not know, or by names alone', async () => {
    const isName = (to: string) => (to.startsWith(host) ? null : { status: 403 })
    await using world = await behindProxy({ lead: isName })
    const from = { ...addressed('8.8.8.8'), proxy: world.proxy.url }
    for (const lookup of [from.lookup, unknown]) {
      const error = await rejection(openSmall(world.url, { ...from, lookup }))
      expect(error).toMatchObject({ code: 'download_failed' })
      expect(error.message).toContain(`name ${host} in pull.allowedHosts`)
    }
    expect((await download(world.url, { ...from, allowedHosts: [host] })).toString()).toBe('[]')
  })
})
