import pg from 'pg'
import { expect, inject, test, vi } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

// Each night is a process of its own.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const folder = await ofThisFile(workingFolder())
const world = await ofThisFile(startWorld({ hotels: 4, seed: 7 }))

const night = async () => {
  const args = ['run', 'nightly-sync', '--json', '--config', demoConfig]
  const { stdout } = await nightferry(folder.path, args, world.environment())
  return JSON.parse(stdout) as RunReport
}
const asAdmin = async (text: string) => {
  const client = new pg.Client({ connectionString: inject('postgres').adminUrl })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
const properties = (report: RunReport) => report.streams.find(({ stream }) => stream === 'properties')

test('the run after the partner restored a copy of its files says so, and sends what the copy says', async () => {
  expect((await night()).verdict).not.toBe('failed')
  const name = new URL(world.partnerUrl).pathname.slice(1)
  await asAdmin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
  await asAdmin(`create database ${name}_copy template ${name}`)
  const rename = `update hotelier.hotel set name = name || ' Resort', updated_at = now() where code = 'H-0001'`
  // The connections of the pool were ended with everybody's.
  await expect.poll(() => world.partnerPool.query(rename).then(() => 'renamed', String), patience).toBe('renamed')
  expect(properties(await night())).toMatchObject({ changed: 1, sent: 1, whole: null })

  await asAdmin(`drop database ${name} with (force)`)
  await asAdmin(`alter database ${name}_copy rename to ${name}`)
  const report = await night()
  expect(report.held).toEqual([])
  expect(properties(report)).toMatchObject({ whole: 'server', read: 4, changed: 1, gone: 0, sent: 1, rejected: 0 })
  expect(report.notices).toContainEqual(
    expect.stringMatching(/^Another server or database answers .* all rows of properties, .*standard_holders/),
  )
  expect(properties(await night())).toMatchObject({ whole: null, changed: 0, sent: 0 })
})
