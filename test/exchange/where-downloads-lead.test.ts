import { describe, expect, it } from 'vitest'
import { DownloadFailed, DownloadRefused } from '../../src/exchange/errors.ts'
import { authority, elsewhere, valid } from './certificates.ts'
import { httpServer } from './fault-server.ts'
import { download, openSmall, page, serving } from './small-download.ts'
import { apiKey, rejection } from './test-client.ts'

describe('the addresses of a download', () => {
  const publicBase = { baseUrl: 'https://exchange.example' }
  /** A resolver that knows the base address as public and every other name by these addresses. */
  const answering =
    (...addresses: string[]) =>
    async (host: string) =>
      (host === 'exchange.example' ? ['8.8.8.8'] : addresses).map((address) => ({ address, family: 4 }))

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://[64:ff9b::7f00:1]/',
    'https://0.0.0.0/',
  ])('refuses the literal %s before it connects', async (url) => {
    const error = await rejection(openSmall(url, { ...publicBase, lookup: answering() }))
    expect(error).toMatchObject({ code: 'download_refused' })
  })

  it('refuses a name that resolves to a private address, and never connects', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const url = `https://localhost:${server.port}/`
    const error = await rejection(openSmall(url, { ...publicBase, ca: authority, lookup: answering('127.0.0.1') }))
    expect(error).toBeInstanceOf(DownloadRefused)
    expect(error.message).toContain('loopback')
    expect(server.seen).toEqual([])
  })

  it('refuses a name of which one address is private', async () => {
    const lookup = answering('8.8.8.8', '10.0.0.1')
    expect(await rejection(openSmall('https://files.example/', { ...publicBase, lookup }))).toBeInstanceOf(
      DownloadRefused,
    )
  })

  it('connects to the address that was judged and resolves the name once', async () => {
    let lookups = 0
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const body = await download(`https://localhost:${server.port}/`, {
      ca: authority,
      lookup: async () => {
        lookups += 1
        return [{ address: lookups === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }]
      },
    })
    expect(body.toString()).toBe('[]')
    expect(lookups).toBe(1)
  })

  it('lets a base name that resolves to loopback have its files there', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const lookup = answering('127.0.0.1')
    const url = `https://localhost:${server.port}/`
    expect((await download(url, { baseUrl: 'https://exchange.internal', ca: authority, lookup })).toString()).toBe('[]')
  })

  it('fails, and is not refused, where the name of the base cannot be looked up for once', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    let lookups = 0
    const lookup = async (host: string) => {
      if (host === 'exchange.internal' && lookups++ < 2) {
        throw Object.assign(new Error('getaddrinfo EAI_AGAIN exchange.internal'), { code: 'EAI_AGAIN' })
      }
      return [{ address: '127.0.0.1', family: 4 }]
    }
    const options = { baseUrl: 'https://exchange.internal', ca: authority, lookup }
    for (const host of ['localhost', '127.0.0.1']) {
      const error = await rejection(openSmall(`https://${host}:${server.port}/`, options))
      expect(error).toBeInstanceOf(DownloadFailed)
      expect(error.message).toContain('exchange.internal')
    }
    expect((await download(`https://localhost:${server.port}/`, options)).toString()).toBe('[]')
  })

  it('does not let a loopback base open other private networks', async () => {
    expect(await rejection(openSmall('http://169.254.169.254/'))).toBeInstanceOf(DownloadRefused)
    expect(await rejection(openSmall('http://10.0.0.1/'))).toBeInstanceOf(DownloadRefused)
  })

  it('lets an allowed host have a private address', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), valid)
    const options = { ...publicBase, ca: authority, lookup: answering('127.0.0.1'), allowedHosts: ['localhost'] }
    expect((await download(`https://localhost:${server.port}/`, options)).toString()).toBe('[]')
  })

  it('fails for a name that does not resolve', async () => {
    const lookup = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND files.example'), { code: 'ENOTFOUND' })
    }
    expect(await rejection(openSmall('https://files.example/', { ...publicBase, lookup }))).toBeInstanceOf(
      DownloadFailed,
    )
    expect(
      await rejection(openSmall('https://files.example/', { ...publicBase, lookup: async () => [] })),
    ).toBeInstanceOf(DownloadRefused)
  })

  it('fails for a certificate of another host', async () => {
    await using server = await httpServer((_request, response) => response.end('[]'), elsewhere)
    expect(await rejection(openSmall(server.url, { ca: authority }))).toMatchObject({ code: 'download_failed' })
  })
})

describe('redirects and the key', () => {
  const redirecting = (location: () => string, status = 302) =>
    httpServer((_request, response) => response.writeHead(status, { location: location() }).end('moved'))

  it('sends the key to the own origin', async () => {
    await using server = await serving(page)
    await download(`${server.url}/files/1`, { baseUrl: `${server.url}/base` })
    expect(server.seen[0]?.headers.authorization).toBe(apiKey)
  })

  it('never sends the key to another port of the own host', async () => {
    await using server = await serving(page)
    await download(server.url)
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it.each([301, 302, 303, 307, 308])('follows %i to another origin without the key', async (status) => {
    await using elsewhere = await serving(page)
    await using own = await redirecting(() => `${elsewhere.url}/moved`, status)
    expect((await download(own.url, { baseUrl: own.url })).equals(page)).toBe(true)
    expect(own.seen[0]?.headers.authorization).toBe(apiKey)
    expect(elsewhere.seen[0]?.path).toBe('/moved')
    expect(elsewhere.seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it('follows a relative redirect', async () => {
    await using server = await httpServer((request, response) => {
      if (request.path === '/next') response.end('[]')
      else response.writeHead(302, { location: 'next' }).end()
    })
    expect((await download(`${server.url}/first`)).toString()).toBe('[]')
  })

  it('follows three redirects and refuses the fourth', async () => {
    await using server = await httpServer((request, response) => {
      const left = Number(request.path.slice(1))
      if (left === 0) response.end('[]')
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    expect((await download(`${server.url}/3`)).toString()).toBe('[]')
    expect(await rejection(openSmall(`${server.url}/4`))).toBeInstanceOf(DownloadRefused)
    expect(server.seen.filter((request) => request.path === '/0')).toHaveLength(1)
  })

  it.each(['http://169.254.169.254/', 'http://10.0.0.1/', 'file:///etc/passwd', 'http://user:secret@127.0.0.1/'])(
    'judges a redirect to %s again',
    async (location) => {
      await using server = await redirecting(() => location)
      const error = await rejection(openSmall(server.url))
      expect(error).toBeInstanceOf(DownloadRefused)
      expect(error.message).not.toContain('secret')
    },
  )

  it.each([{}, { location: 'http://' }])('fails for a redirect that leads nowhere: %j', async (headers) => {
    await using server = await httpServer((_request, response) => response.writeHead(302, headers).end())
    expect(await rejection(openSmall(server.url))).toBeInstanceOf(DownloadFailed)
  })

  it('never names the path, the query or the key in a message', async () => {
    await using server = await httpServer((_request, response) => response.writeHead(404).end(apiKey))
    const error = await rejection(openSmall(`${server.url}/token?signature=abc`, { baseUrl: server.url }))
    expect(error.message).not.toMatch(/token|abc|canary/)
  })
})
