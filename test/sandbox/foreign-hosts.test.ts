import { request } from 'node:http'
import fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refuseForeignHosts } from '../../src/sandbox/server/refuse-foreign-hosts.ts'
import { type OpenSandbox, openSandbox } from './open-sandbox.ts'

describe('a sandbox on loopback', () => {
  let sandbox: OpenSandbox
  beforeAll(async () => {
    sandbox = await openSandbox({ companies: 3 })
  })
  afterAll(() => sandbox.close())

  /** The status of a call as a browser makes it from a page under this host. */
  const statusFor = (host: string, path: string) =>
    new Promise((resolve, reject) => {
      const options = { headers: { host, authorization: 'demo-key' } }
      request(`${sandbox.url}${path}`, options, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end()
    })

  it.each(['/api/v1/unit-types', '/sandbox/webhooks', '/openapi.json'])(
    'answers nothing at %s to a page whose own name leads to it',
    async (path) => {
      for (const host of [
        'rebound.example',
        'rebound.example:4710',
        'localhost.rebound.example',
        '127.0.0.1.example',
      ]) {
        expect(await statusFor(host, path), host).toBe(421)
      }
      for (const host of ['localhost', 'LOCALHOST:4710', '127.0.0.1:4710', '[::1]:4710', '192.168.0.7']) {
        expect(await statusFor(host, path), host).toBe(200)
      }
    },
  )
})

it.each([
  ['127.0.0.1', undefined, 421],
  ['::1', undefined, 421],
  ['localhost', 'https://elsewhere.example', 421],
  ['127.0.0.1', 'https://sandbox.partner.example/base', 200],
  ['0.0.0.0', undefined, 200],
  ['192.168.0.7', undefined, 200],
])(
  'a server on %s, which others see under %s, answers a request to sandbox.partner.example with %s',
  async (host, publicUrl, status) => {
    await using server = fastify()
    server.setErrorHandler((error: { status?: number }, _request, reply) => reply.code(error.status ?? 500).send())
    refuseForeignHosts(server, { host, publicUrl })
    server.get('/', () => 'here')
    const answer = await server.inject({ url: '/', headers: { host: 'sandbox.partner.example:8443' } })
    expect(answer.statusCode).toBe(status)
  },
)
