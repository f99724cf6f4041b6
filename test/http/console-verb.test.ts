import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nightferry } from '../cli/nightferry-process.ts'
import { demoConfig } from '../helpers/world.ts'
import { posted, type Served, served, tokens } from './served.ts'

let api: Served
beforeAll(async () => {
  api = await served({ hotels: 2 })
})
afterAll(() => api[Symbol.asyncDispose]())

const open = async (port: string, environment: Record<string, string>) =>
  await nightferry(api.folder, ['console', '--json', '--config', demoConfig], {
    ...api.world.environment(),
    NIGHTFERRY_HTTP_PORT: port,
    ...environment,
  })

test.each([
  ['act', { NIGHTFERRY_HTTP_TOKEN: tokens.act, NIGHTFERRY_HTTP_READ_TOKEN: tokens.read }],
  ['read', { NIGHTFERRY_HTTP_READ_TOKEN: tokens.read }],
])('nightferry console prints a link to the daemon that may %s, as its token allows', async (may, environment) => {
  const ended = await open(new URL(api.url).port, environment)
  expect(ended.code, ended.stderr).toBe(0)
  const { link } = JSON.parse(ended.stdout) as { link: string }
  expect(link).toMatch(new RegExp(`^${api.url}/console/#once=`))
  const signIn = posted({ once: link.split('#once=')[1] })
  const headers = { ...(signIn.headers as Record<string, string>), 'x-nightferry-console': '1' }
  expect(await api.json('/console/session', { ...signIn, headers })).toMatchObject({ may })
})

test('nightferry console shows its token to no program that listens in the place of the daemon', async () => {
  const seen: string[] = []
  const other = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push(JSON.stringify([request.url, request.headers, body]))
      response.end('{"nonce":"one of mine","once":"mine"}')
    })
  }).listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    const ended = await open(String((other.address() as AddressInfo).port), { NIGHTFERRY_HTTP_TOKEN: tokens.act })
    expect(ended.code, ended.stderr).toBe(0)
    expect(seen).toHaveLength(2)
    for (const request of seen) expect(request).not.toContain(tokens.act)
  } finally {
    other.close()
  }
})
