import { expect, test, vi } from 'vitest'
import { isServerAway, mayPass } from '../../src/db/database-trouble.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { tcpServer, unusedPort } from '../exchange/fault-server.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { switchingProxy } from '../servers/switching-proxy.ts'

const patience = { timeout: 60_000, interval: 20 }
const serve = ['serve', '--config', demoConfig]

function at(url: string, port: number): string {
  return Object.assign(new URL(url), { port: String(port) }).href
}

test('the start of a daemon waits for a server that refuses connections, says so once, and is up when it is there', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const port = await unusedPort()
  const environment = { ...world.environment(), DATABASE_URL: at(world.databaseUrl, port) }
  const asked = await nightferry(folder.path, ['status'], environment)
  expect(asked.stderr).toMatch(/^nightferry: database_unreachable: .*ECONNREFUSED/)
  const daemon = start(folder.path, serve, environment)
  const awaited = () => daemon.stderr().match(/"database_awaited"/g) ?? []
  await vi.waitFor(() => expect(awaited()).toHaveLength(1), patience)
  await using _ = await switchingProxy(Number(new URL(world.databaseUrl).port), port)
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"service_started"'), patience)
  expect(awaited()).toHaveLength(1)
  expect(daemon.stderr()).toMatch(
    /"code":"database_unreachable","error":"[^"]*ECONNREFUSED[^"]*","msg":"database_awaited"/,
  )
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
})

test('a daemon that waits for a server which never answers ends at once when it is told to', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  let asked = 0
  await using silent = await tcpServer(() => {
    asked += 1
  })
  const DATABASE_URL = at(world.databaseUrl, silent.port)
  const daemon = start(folder.path, serve, { ...world.environment(), DATABASE_URL })
  await vi.waitFor(() => expect(asked).toBe(1), patience)
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.ended
  expect(code).toBe(143)
  // Which it would say if the connection that is not answered kept it.
  expect(stderr).not.toContain('shutdown_cut_short')
})

test('a server that refuses who asks, or what for, ends the start of a daemon at once', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const named = (change: (url: URL) => void) => {
    const url = new URL(world.databaseUrl)
    change(url)
    return url.href
  }
  const refused = [
    named((url) => {
      url.username = 'nobody_of_this_name'
      url.password = 'wrong'
    }),
    named((url) => {
      url.pathname = '/nothing_of_this_name'
    }),
  ]
  for (const DATABASE_URL of refused) {
    const { code, stderr } = await nightferry(folder.path, serve, { ...world.environment(), DATABASE_URL })
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/^nightferry: database_unreachable: .*_of_this_name/m)
    expect(stderr).not.toContain('database_awaited')
  }
})

test('trouble that passes by itself is told from trouble that needs a person', () => {
  const coded = (code: string) => Object.assign(new Error('their words'), { code })
  const away = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', '57P03', '57P01', '08006']
  for (const code of away) expect(isServerAway(coded(code)), code).toBe(true)
  for (const words of ['timeout expired', 'Connection terminated unexpectedly']) {
    expect(isServerAway(new Error(words)), words).toBe(true)
  }
  expect(isServerAway(Object.assign(coded('ENOENT'), { syscall: 'connect' }))).toBe(true)
  expect(isServerAway(Object.assign(coded('ENOENT'), { syscall: 'open' }))).toBe(false)
  // A pooler says each of its refusals with 08P01, that of a wrong password too.
  for (const code of ['28P01', '28000', '3D000', '08P01', '53300', 'SELF_SIGNED_CERT_IN_CHAIN']) {
    expect(isServerAway(coded(code)), code).toBe(false)
  }
  expect(isServerAway(new Error('SASL: client password must be a string'))).toBe(false)
})

test('trouble that a daemon at work waits for is a server that is away or lacks something, and all that a pooler refuses', () => {
  const coded = (code: string) => Object.assign(new Error('their words'), { code })
  for (const code of ['ECONNREFUSED', '57P03', '08006', '08P01', '53100', '53200', '53300']) {
    expect(mayPass(coded(code)), code).toBe(true)
  }
  for (const code of ['28P01', '28000', '3D000', '42P01', 'EMFILE', 'CERT_HAS_EXPIRED']) {
    expect(mayPass(coded(code)), code).toBe(false)
  }
  expect(mayPass(new Error('Connection terminated unexpectedly'))).toBe(true)
  expect(mayPass(new TypeError('ours'))).toBe(false)
})
