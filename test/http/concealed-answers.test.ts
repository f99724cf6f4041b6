import { expect, it } from 'vitest'
import { concealJson } from '../../src/cli/scrubbing.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { buildHttpServer } from '../../src/http/build-http-server.ts'
import { Problem } from '../../src/http/problem.ts'
import { type HttpContext, Plain, type Route, route } from '../../src/http/route.ts'
import { demoConfig } from '../helpers/world.ts'

const answers = { 200: 'application/json' }
const routes: Route[] = [
  route({
    id: 'said',
    method: 'GET',
    path: '/said',
    summary: 'x',
    access: 'open',
    answers,
    handle: () => ({ hotels: 12_345, rows: 1_234, reason: 'hotels 1234' }),
  }),
  route({
    id: 'written',
    method: 'GET',
    path: '/written',
    summary: 'x',
    access: 'open',
    answers,
    handle: () => new Plain('application/json', '{"hotels":1234,"reason":"hotels 1234"}'),
  }),
  route({
    id: 'refused',
    method: 'GET',
    path: '/refused',
    summary: 'x',
    access: 'open',
    answers,
    handle: () => {
      throw new Problem(409, 'request_malformed', 'hotels 1234')
    },
  }),
]

it.each([
  ['/said', { hotels: 12_345, rows: 1_234, reason: '******** ********' }],
  ['/written', { hotels: 1_234, reason: '******** ********' }],
  ['/refused', { status: 409, code: 'request_malformed', detail: '******** ********' }],
])('an answer of %s keeps its names and numbers, whatever a password is', async (path, expected) => {
  const { http } = loadConfig({ file: demoConfig, environment: {} })
  const deps = { logger: { error: () => {} } }
  const context = { deps, conceal: concealJson(['hotels', '1234']) } as unknown as HttpContext
  const server = buildHttpServer(context, http, routes)
  const { body } = await server.inject({ url: path, headers: { host: '127.0.0.1' } })
  expect(JSON.parse(body)).toMatchObject(expected)
  await server.close()
})
