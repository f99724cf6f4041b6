import { beforeEach, expect, test, vi } from 'vitest'
import { startKeyWatch } from '../../../src/jobs/watch-key.ts'
import { keyFingerprint } from '../../../src/pipeline/gate/shared-gate.ts'
import { rejection } from '../../exchange/test-client.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { some } from '../../helpers/some.ts'
import { readLog, switchTo } from '../../sandbox/chaos-world.ts'
import { openSandbox } from '../../sandbox/open-sandbox.ts'
import { gated } from './gated.ts'

const sandbox = await ofThisFile(openSandbox())
let databaseUrl: string
let from: number
beforeEach(async () => {
  databaseUrl = (await testDatabase()).url
  await switchTo(sandbox, {})
  from = (await readLog(sandbox)).at(-1)?.id ?? 0
})

const revoke = () => switchTo(sandbox, { unauthorised: 1 })
const restore = () => switchTo(sandbox, {})
const callsSince = async () =>
  (await readLog(sandbox)).filter(({ id, path }) => id > from && path.startsWith('/api/')).map(({ path }) => path)
const daemon = (probeIntervalMs = 60_000, options: { apiKey?: string; probeAtOnce?: boolean } = {}) =>
  gated({ databaseUrl, serviceUrl: sandbox.url, probeIntervalMs, ...options })
const unitTypes = '/api/v1/unit-types'

test('after one 401 no daemon makes any call, and each says since when, why, and what to do', async () => {
  const daemons = [daemon(), daemon(), daemon()] as const
  await daemons[0].client.getGroups()
  await revoke()
  expect(await rejection(daemons[1].client.getGroups())).toMatchObject({ code: 'exchange_unauthorized', status: 401 })
  for (const { client } of some(daemons)) {
    const calls = [() => client.getUnitTypes(), () => client.getTasks(), () => client.submit('companyMappings', '{}')]
    for (const call of some(calls)) {
      const error = await rejection(call())
      expect(error).toMatchObject({
        name: 'KeyDenied',
        code: 'exchange_unauthorized',
        status: 401,
        errorCode: 'api_key_unknown',
      })
      expect(error.message).toMatch(
        /not called, because .* \(401 api_key_unknown: .*\) since \d{4}-.* UTC\. Set EXCHANGE_API_KEY/,
      )
    }
  }
  expect(await callsSince()).toEqual(['/api/v1/groups', '/api/v1/groups'])
  expect(daemons.flatMap(({ events }) => events)).toEqual(['api_key_refused'])
})

test('one of three daemons makes each probe, and the first that succeeds lets all of them call again', async () => {
  const daemons = [daemon(300), daemon(300), daemon(300)] as const
  await revoke()
  await rejection(daemons[0].client.getGroups())
  const watches = daemons.map(({ client, gate }) =>
    startKeyWatch(
      {
        refusal: () => gate.refusal(),
        probe: () => client.getUnitTypes(),
        logger: { warn: () => {}, debug: () => {} },
      },
      300,
    ),
  )
  const began = performance.now()
  await vi.waitFor(async () => expect((await callsSince()).length).toBeGreaterThan(4), { timeout: 60_000 })
  const intervals = (performance.now() - began) / 300
  const probes = (await callsSince()).slice(1)
  expect(probes).toEqual(probes.map(() => unitTypes))
  expect(probes.length).toBeLessThanOrEqual(Math.ceil(intervals) + 1)
  await restore()
  const said = () => daemons.flatMap(({ events }) => events)
  await vi.waitFor(() => expect(said()).toContain('api_key_accepted_again'), { timeout: 60_000 })
  for (const watch of watches) watch.stop()
  for (const { client } of daemons) await client.getGroups()
  expect(said()).toEqual(['api_key_refused', 'api_key_accepted_again'])
})

test('a person does not wait for the time of the next probe, a daemon does', async () => {
  const first = daemon()
  await revoke()
  await rejection(first.client.getGroups())
  await restore()
  expect(await rejection(daemon().client.getUnitTypes())).toMatchObject({ name: 'KeyDenied' })
  const person = daemon(60_000, { probeAtOnce: true })
  // What changes something is no probe.
  expect(await rejection(person.client.submit('companyMappings', '{}'))).toMatchObject({ name: 'KeyDenied' })
  await person.client.getUnitTypes()
  await first.client.getGroups()
  expect(await callsSince()).toEqual(['/api/v1/groups', unitTypes, '/api/v1/groups'])
})

test('a probe of a key that is still denied keeps the moment since when, and takes over the newest words', async () => {
  const one = daemon()
  await revoke()
  await rejection(one.client.getGroups())
  const before = await one.gate.refusal()
  await switchTo(sandbox, { unauthorised: 1, 'unknown-error-codes': 1 })
  await rejection(daemon(60_000, { probeAtOnce: true }).client.getUnitTypes())
  const after = await one.gate.refusal()
  expect(after?.since).toEqual(before?.since)
  expect(after?.errorCode).not.toBe(before?.errorCode)
  expect(one.events).toEqual(['api_key_refused'])
})

test('a probe that fails for another reason changes nothing', async () => {
  const one = daemon()
  await revoke()
  await rejection(one.client.getGroups())
  await switchTo(sandbox, { 'server-error:503': 1 })
  await rejection(daemon(60_000, { probeAtOnce: true }).client.getUnitTypes())
  expect(await one.gate.refusal()).not.toBeNull()
  expect(await callsSince()).toEqual(['/api/v1/groups', unitTypes])
})

test('another key is not stopped by the breaker of the first', async () => {
  const wrong = daemon(60_000, { apiKey: 'no-such-key' })
  expect(await rejection(wrong.client.getGroups())).toMatchObject({ status: 401 })
  await daemon().client.getGroups()
  expect(await rejection(wrong.client.getGroups())).toMatchObject({ name: 'KeyDenied' })
})

test('a fingerprint tells keys and services apart and holds nothing of the key', () => {
  const of = (key: string, url = 'https://exchange.example.com') => keyFingerprint(key, url)
  expect(of('demo-key')).toMatch(/^[0-9a-f]{16}$/)
  expect(of('demo-key')).toBe(of('demo-key', 'https://exchange.example.com/prefix'))
  expect(of('demo-key')).not.toBe(of('demo-kez'))
  expect(of('demo-key')).not.toBe(of('demo-key', 'https://staging.example.com'))
})
