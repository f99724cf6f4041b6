import { expect, test, vi } from 'vitest'
import type { Finding } from '../../src/doctor/ward.ts'
import { nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { alteringProxy } from '../helpers/altering-proxy.ts'
import { canaries } from '../helpers/canaries.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { bearer, posted, tokens } from '../http/served.ts'

const patience = { timeout: 150_000, interval: 100 }

const urlOf = async (daemon: Running): Promise<string> => {
  await vi.waitFor(() => expect(daemon.stderr()).toMatch(/"service_started"|nightferry: /), patience)
  expect(daemon.stderr()).toContain('"service_started"')
  return /"url":"([^"]+)"/.exec(daemon.stderr())?.[1] ?? ''
}

test('daemons are exchanged one by one for those with another key, and then for those with another address', async () => {
  await using made = new AsyncDisposableStack()
  const world = made.use(await startWorld({ hotels: 3 }))
  const folder = made.use(await workingFolder())
  const moved = made.use(await alteringProxy(world.sandboxUrl, (_, answer) => answer))
  const environment = (over: Record<string, string>) => ({
    ...world.environment(),
    NIGHTFERRY_HTTP_PORT: '0',
    NIGHTFERRY_HTTP_TOKEN: tokens.act,
    NIGHTFERRY_HTTP_READ_TOKEN: tokens.read,
    ...over,
  })
  const serve = (over: Record<string, string>) => {
    const daemon = start(folder.path, ['serve', '--config', demoConfig], environment(over))
    made.defer(async () => {
      daemon.child.kill('SIGTERM')
      await daemon.ended
    })
    return daemon
  }
  const night = async (daemon: Running) => {
    const answer = await fetch(`${await urlOf(daemon)}/v1/jobs/nightly-sync/runs`, {
      ...posted({}),
      headers: { ...bearer(tokens.act), 'content-type': 'application/json' },
    })
    expect(answer.status, await answer.text()).toBe(202)
    return async () => {
      const { rows } = await world.pool.query(
        `select state, report ->> 'verdict' as verdict from run where job = 'nightly-sync' order by run_id desc limit 1`,
      )
      return rows[0]
    }
  }
  const well = { state: 'finished', verdict: 'succeeded' }
  const keys = async () => {
    const { rows } = await world.pool.query('select profile_certainty from destination_key order by 1')
    return rows.map(({ profile_certainty }) => profile_certainty)
  }

  // Another key of the same profile, at a ledger that is new: nothing tells yet whose it is.
  const first = serve({ EXCHANGE_API_KEY: canaries.apiKey })
  await urlOf(first)
  const second = serve({ EXCHANGE_API_KEY: 'sibling-key' })
  await urlOf(second)
  expect(await keys()).toEqual(['certain'])
  const doctor = await nightferry(
    folder.path,
    ['doctor', '--json', '--config', demoConfig],
    environment({ EXCHANGE_API_KEY: 'sibling-key' }),
  )
  const { findings } = JSON.parse(doctor.stdout) as { findings: Finding[] }
  expect(findings.filter(({ id }) => id === 'service_destination')).toMatchObject([
    { level: 'error', what: expect.stringContaining('the profile is not to be told') },
  ])
  await expect.poll(await night(second), patience).toEqual(well)
  first.child.kill('SIGTERM')
  expect((await first.ended).code).toBe(143)
  await expect.poll(await night(second), patience).toEqual(well)
  expect(second.stderr()).toContain('"key_of_same_profile"')
  expect(await keys()).toEqual(['certain', 'certain'])

  // Another address of the same service.
  const there = { EXCHANGE_API_KEY: 'sibling-key', EXCHANGE_BASE_URL: moved.url }
  const third = serve(there)
  await urlOf(third)
  expect(third.stderr()).toContain('"looks_left_to_others"')
  await expect.poll(await night(third), patience).toEqual(well)
  const same = await nightferry(folder.path, ['destination', 'same', '--config', demoConfig], environment(there))
  expect(same, same.stderr).toMatchObject({ code: 0 })
  await expect.poll(await night(second), patience).toEqual(well)
  second.child.kill('SIGTERM')
  expect((await second.ended).code).toBe(143)
  await expect.poll(await night(third), patience).toEqual(well)
  const { rows } = await world.pool.query('select count(*)::int as destinations from destination')
  expect(rows).toEqual([{ destinations: 1 }])
}, 400_000)
