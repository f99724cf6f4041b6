import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

test('a hotel that gets another id leaves its old mapping as drift alone, is shown by the id that it has, and overwrites nobody', async () => {
  await using world = await startWorld({ hotels: 2, seed: 7, migrated: true })
  await using folder = await workingFolder()
  const config = join(folder.path, 'own.yaml')
  writeFileSync(config, readFileSync(demoConfig, 'utf8').replaceAll('cursor: updated_at', 'capture: snapshot'))
  const call = async (...args: string[]) =>
    JSON.parse((await nightferry(folder.path, [...args, '--json', '--config', config], world.environment())).stdout)
  const night = async () => {
    const { verdict, remarks, notices } = (await call('run', 'nightly-sync')) as RunReport
    return { verdict, remarks, overwrites: notices.filter((notice) => /overwrites/.test(notice)) }
  }
  const well = { verdict: 'succeeded', remarks: [], overwrites: [] }
  const drift = async () =>
    ((await call('drift')) as { stream: string; partner_id: string; why: string }[]).map(
      ({ stream, partner_id, why }) => `${why} ${stream} ${partner_id}`,
    )
  const shown = async () =>
    (
      await world.pool.query<{ partner_id: string }>(
        'select partner_id from companies where partner_id is not null order by 1',
      )
    ).rows.map(({ partner_id }) => partner_id)
  const rename = (from: string, to: string) =>
    world.partnerPool.query('update hotelier.hotel set code = $2 where code = $1', [from, to])

  expect(await night()).toEqual(well)
  await rename('H-0001', 'X-0001')
  expect(await night()).toEqual(well)
  expect(await drift()).toEqual(['gone properties H-0001'])
  expect(await shown()).toEqual(['H-0002', 'X-0001'])
  const inShort = async (hotel: string) => ((await call('trace', hotel)) as { in_short: string[] }).in_short
  expect((await inShort('H-0001')).slice(0, 2)).toEqual([
    expect.stringMatching(/^All \d+ rows are gone in your database; nothing of them is sent/),
    'Its company is also that of X-0001.',
  ])
  expect((await inShort('X-0001'))[0]).toMatch(/^All \d+ rows are accepted\.$/)
  expect((await inShort('X-0001')).join(' ')).not.toContain('H-0001')
  // It is taken back: the id that was mapped last is gone.
  await rename('X-0001', 'H-0001')
  expect(await night()).toEqual(well)
  expect(await drift()).toEqual(['gone properties X-0001'])
  expect(await shown()).toEqual(['H-0001', 'H-0002'])
})
