import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect, test, vi } from 'vitest'
import { changedSettings, takeOverSettings } from '../../src/cli/reload.ts'
import { start, workingFolder } from '../cli/nightferry-process.ts'
import { httpServer, sendJson } from '../exchange/fault-server.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { startWorld } from '../helpers/world.ts'
import { writeCertificate } from '../helpers/write-certificate.ts'

const patience = { timeout: 60_000, interval: 20 }

test('differences are named by path, a list as one setting and a missing section as one', () => {
  const before = { a: { b: 1, list: [1, 2], same: { x: null } }, gone: 1, streams: {} }
  const after = { a: { b: 2, list: [2, 1], same: { x: null } }, streams: { properties: { query: 'select' } } }
  expect(changedSettings(before, after)).toEqual(['a.b', 'a.list', 'gone', 'streams.properties'])
  expect(changedSettings(before, structuredClone(before))).toEqual([])
})

test('values are taken over into the sections that others hold', () => {
  const target = { a: { b: 1, c: 1 }, d: 1 }
  const held = target.a
  takeOverSettings(target, { a: { b: 2, c: 2 } }, ['a.b', 'd'])
  expect(target).toEqual({ a: { b: 2, c: 1 } })
  expect(target.a).toBe(held)
})

const world = await ofThisFile(startWorld({ hotels: 1 }))
const folder = await ofThisFile(workingFolder())

/** The lines of a log, newest last. */
function lines(log: string): Record<string, unknown>[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('SIGHUP takes over what can be taken over, names the rest, and keeps the old configuration if the new one is wrong', async () => {
  await using receiver = await httpServer((_, response) => sendJson(response, {}))
  const file = join(folder.path, 'nightferry.yaml')
  const write = (text: string) =>
    writeFile(
      file,
      `exchange:\n  customIdentifierId: 11111111-1111-4111-8111-111111111111\nstreams:\n  properties:\n    cursor: updated_at\n    query: select 1\n${text}`,
    )
  await write('log: { level: info }\n')
  const proxy = join(folder.path, 'proxy')
  await writeFile(proxy, 'http://user:old@127.0.0.1:9')
  const { NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: _, ...environment } = world.environment()
  const daemon = start(folder.path, ['serve', '--set', 'log.level=info'], {
    ...environment,
    NIGHTFERRY_EXCHANGE_PROXY_FILE: proxy,
  })
  const events = () => lines(daemon.stderr())
  const count = (msg: string) => events().filter((line) => line.msg === msg).length
  const last = (msg: string) => events().findLast((line) => line.msg === msg)
  await vi.waitFor(() => expect(count('no_schedule_no_data_carried')).toBe(1), patience)

  // A flag wins over the file, as it did at the start.
  await write(`log: { level: debug }
jobs: { nightly-sync: { schedule: '30 2 * * *' } }
notify: { url: '${receiver.url}/hooks/what-only-we-know-of' }
pull: { pagesAtOnce: 3 }
`)
  await writeFile(proxy, 'http://user:new-what-only-we-know-of@127.0.0.1:9')
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(count('settings_need_restart')).toBe(1), patience)
  expect(last('configuration_reloaded')).toMatchObject({
    settings: ['exchange.proxy', 'jobs.nightly-sync.schedule', 'notify.url'],
  })
  expect(last('settings_need_restart')).toMatchObject({ settings: ['pull.pagesAtOnce'] })

  await write('jobs: { nightly-sync: { schedule: "99 2 * * *" } }\n')
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(count('configuration_refused')).toBe(1), patience)
  expect(last('configuration_refused')).toMatchObject({
    code: 'config_invalid',
    error: expect.stringContaining('jobs.nightly-sync.schedule'),
  })

  await write('notify: { email: { password: *what-only-we-know-of } }\n')
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(count('configuration_refused')).toBe(2), patience)
  expect(last('configuration_refused')).toMatchObject({ error: expect.stringContaining('nightferry.yaml:7:') })

  // It has the schedule of the second one, so that is what differs from the first.
  await write('log: { level: info }\n')
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(count('configuration_reloaded')).toBe(2), patience)
  expect(last('configuration_reloaded')).toMatchObject({ settings: ['jobs.nightly-sync.schedule', 'notify.url'] })
  daemon.child.kill('SIGTERM')
  const ended = await daemon.ended
  expect(ended.code).toBe(143)
  expect(ended.stderr).not.toContain('what-only-we-know-of')
}, 120_000)

test('a schedule that was reloaded starts a run, and the log says more from then on', async () => {
  const file = join(folder.path, 'other.yaml')
  const write = (text: string) =>
    writeFile(
      file,
      `exchange:\n  customIdentifierId: 11111111-1111-4111-8111-111111111111\nstreams:\n  properties:\n    cursor: updated_at\n    query: select 1\n${text}`,
    )
  await write('log: { level: warn }\n')
  const daemon = start(folder.path, ['serve', '--config', 'other.yaml'], {
    ...world.environment(),
    NIGHTFERRY_LOG_LEVEL: '',
  })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('no_schedule_no_data_carried'), patience)
  expect(daemon.stderr()).not.toContain('service_started')
  await write(`log: { level: info }\njobs: { nightly-sync: { schedule: '* * * * *' } }\n`)
  daemon.child.kill('SIGHUP')
  // The next minute is up to 60 seconds away, and the query of the stream is wrong, so the run fails and says so.
  await vi.waitFor(() => expect(daemon.stderr()).toMatch(/"msg":"run_failed"/), { timeout: 90_000, interval: 100 })
  expect(daemon.stderr()).toContain('configuration_reloaded')
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
}, 150_000)

test('SIGHUP shows a certificate that was renewed to new connections, and keeps the old one where its files are broken', async () => {
  const http = { port: 0, ...writeCertificate(folder.path) }
  await writeFile(
    join(folder.path, 'secure.yaml'),
    JSON.stringify({
      exchange: { customIdentifierId: '11111111-1111-4111-8111-111111111111' },
      streams: { properties: { cursor: 'updated_at', query: 'select 1' } },
      http,
    }),
  )
  const daemon = start(folder.path, ['serve', '--config', 'secure.yaml', '--set', 'log.level=info'], {
    ...world.environment(),
  })
  const logged = (msg: string) => lines(daemon.stderr()).filter((line) => line.msg === msg)
  await vi.waitFor(() => expect(logged('http_started')).toHaveLength(1), patience)
  await vi.waitFor(() => expect(logged('service_started')).toHaveLength(1), patience)
  const { port, hostname: host } = new URL(String(logged('http_started')[0]?.url))
  const shown = async () => {
    const socket = connect({ port: Number(port), host, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  const first = await shown()
  writeCertificate(folder.path)
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(logged('configuration_reloaded')).toHaveLength(1), patience)
  const second = await vi.waitFor(async () => {
    const now = await shown()
    expect(now).not.toBe(first)
    return now
  }, patience)
  await writeFile(http.certificateFile, 'broken')
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(logged('configuration_refused')).toHaveLength(1), patience)
  expect(logged('configuration_refused')[0]?.error).toContain('http.certificateFile')
  expect(await shown()).toBe(second)
  daemon.child.kill('SIGTERM')
  await daemon.ended
}, 120_000)

test('a token of the API is exchanged without a gap: SIGHUP takes the newer one beside the older, and then alone', async () => {
  const [file, reading] = [join(folder.path, 'token'), join(folder.path, 'read-token')]
  const [older, newer] = ['older-token-of-the-api', 'newer-token-of-the-api']
  await writeFile(file, older)
  await writeFile(reading, 'reading-token-of-the-api')
  await writeFile(
    join(folder.path, 'tokens.yaml'),
    JSON.stringify({
      exchange: { customIdentifierId: '11111111-1111-4111-8111-111111111111' },
      streams: { properties: { cursor: 'updated_at', query: 'select 1' } },
      http: { port: 0 },
    }),
  )
  const daemon = start(folder.path, ['serve', '--config', 'tokens.yaml', '--set', 'log.level=info'], {
    ...world.environment(),
    NIGHTFERRY_HTTP_TOKEN_FILE: file,
    NIGHTFERRY_HTTP_READ_TOKEN_FILE: reading,
  })
  const logged = (msg: string) => lines(daemon.stderr()).filter((line) => line.msg === msg)
  await vi.waitFor(() => expect(logged('service_started')).toHaveLength(1), patience)
  const url = String(logged('http_started')[0]?.url)
  const asked = async (token: string) =>
    (await fetch(`${url}/v1/jobs`, { headers: { authorization: `Bearer ${token}` } })).status
  const known = async () => [await asked(older), await asked(newer)]
  expect(await known()).toEqual([200, 401])

  await writeFile(file, `${newer}\n${older}\n`)
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(logged('configuration_reloaded')).toHaveLength(1), patience)
  expect(logged('configuration_reloaded')[0]).toMatchObject({ settings: ['http.token'] })
  expect(await known()).toEqual([200, 200])

  await writeFile(reading, newer)
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(logged('configuration_refused')).toHaveLength(1), patience)
  expect(await known()).toEqual([200, 200])
  await writeFile(reading, 'reading-token-of-the-api')

  await writeFile(file, newer)
  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(logged('configuration_reloaded')).toHaveLength(2), patience)
  expect(await known()).toEqual([401, 200])
  expect(await asked('reading-token-of-the-api')).toBe(200)
  daemon.child.kill('SIGTERM')
  const ended = await daemon.ended
  for (const token of [older, newer]) expect(ended.stderr).not.toContain(token)
}, 120_000)
