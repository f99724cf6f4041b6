import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { createChaos } from '../../src/sandbox/chaos/chaos.ts'
import { rowOccasion } from '../../src/sandbox/chaos/row-chaos.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { unfinishedTogether } from '../helpers/request-log.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const seed = 7
const profile = 'poison-rows'

async function switchTo(world: World, profiles: Record<string, number>): Promise<void> {
  const answer = await fetch(`${world.sandboxUrl}/sandbox/chaos`, {
    method: 'PUT',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({ profiles }),
  })
  expect(answer.status).toBe(200)
}

async function verb(world: World, folder: string, ...args: string[]): Promise<string> {
  const ended = await nightferry(folder, [...args, '--config', join(folder, 'only-hotels.yaml')], world.environment())
  expect(ended.stderr).not.toContain('nightferry:')
  return ended.stdout
}

test('hotels that the service fails over are found in the same night, the others are mapped, and nothing is sent twice at once', async () => {
  await using world = await startWorld({ hotels: 30, seed })
  await using folder = await workingFolder()
  // Of the demonstration's streams only the hotels: of the others every request would hold poison. What is sent again
  // is the default.
  const {
    streams,
    push: _,
    ...settings
  } = parse(readFileSync(demoConfig, 'utf8')) as {
    streams: { properties: object }
    push: object
  }
  const document = stringify({ ...settings, streams: { properties: streams.properties } })
  writeFileSync(join(folder.path, 'only-hotels.yaml'), document)
  const { rows: hotels } = await world.partnerPool.query<{ code: string }>(
    'select code from hotelier.hotel order by code',
  )
  const poisonedAt = (share: number) => {
    const chaos = createChaos(seed, new Map([[profile, share]]))
    return hotels.map(({ code }) => code).filter((code) => chaos.fate(profile, rowOccasion(code)))
  }
  // The smallest share that strikes a hotel at all.
  const share = Array.from({ length: 100 }, (_, at) => (at + 1) / 200).find((one) => poisonedAt(one).length > 0) ?? 1
  const poisoned = poisonedAt(share)
  expect(poisoned.length).toBeLessThan(4)
  await switchTo(world, { [profile]: share })

  const report = JSON.parse(await verb(world, folder.path, 'run', 'nightly-sync', '--json')) as RunReport
  expect(report.verdict).toBe('partial')
  const { rows: rejected } = await world.pool.query<{ partner_id: string; outcome_code: string }>(
    `select partner_id, outcome_code from ledger where stream = 'properties' and outcome <> 'confirmed' order by 1`,
  )
  expect(rejected).toEqual(poisoned.map((partner_id) => ({ partner_id, outcome_code: 'task_error_alone' })))
  const words = poisoned.length === 1 ? '1 row was' : `${poisoned.length} rows were`
  expect(report.notices).toContainEqual(
    expect.stringMatching(`^Submission \\d+ was split into \\d+ requests.*; ${words} found`),
  )
  expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
  const { rows: held } = await world.pool.query('select from held_property')
  expect(held).toEqual([])

  const [first = ''] = poisoned
  expect(await verb(world, folder.path, 'rejected')).toMatch(/sent again by policy after .*, for the 1st time of 3/)
  expect(await verb(world, folder.path, 'trace', first)).toMatch(/a part of submission \d+, which was split/)
  expect(await verb(world, folder.path, 'submissions')).toMatch(/part of \d+$/m)
  expect(await verb(world, folder.path, 'trace', first)).toContain('sent again by policy after')

  // Once the service is fixed a policy that is due brings them through.
  await switchTo(world, {})
  const retries = JSON.stringify([{ code: 'task_error_alone', afterMs: 0, times: 1 }])
  const second = JSON.parse(
    await verb(world, folder.path, 'run', 'nightly-sync', '--json', '--set', `push.retries=${retries}`),
  ) as RunReport
  expect(second.streams.find(({ stream }) => stream === 'properties')).toMatchObject({
    sent: poisoned.length,
    confirmed: poisoned.length,
  })
}, 240_000)
