import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

test('grant lets a role of the embedded server read what sql shows, says so, and takes it back; the actions show both', async () => {
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  const cluster = await openCluster({ folder: join(folder.path, '.nightferry', 'postgres'), onNotice: () => {} })
  onTestFinished(() => cluster.release())
  const call = (...args: string[]) => nightferry(folder.path, args)

  expect(await call('migrate')).toMatchObject({ code: 0 })
  expect(await call('grant', 'analyst')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^nightferry: role_unknown: There is no role "analyst"/m),
  })
  const admin = new pg.Client({ connectionString: cluster.url('nightferry') })
  await admin.connect()
  await admin.query(`create role analyst login password 'of the analyst'`)
  await admin.end()

  const granted = await call('grant', 'analyst')
  expect(granted, granted.stderr).toMatchObject({ code: 0 })
  expect(granted.stdout).toMatch(
    /^analyst may read: .*calculator_values.*companies.*\.\nNot actions, drift and ledger; --all grants/,
  )

  const address = new URL(cluster.url('nightferry'))
  address.username = 'analyst'
  address.password = encodeURIComponent('of the analyst')
  const analyst = new pg.Client({ connectionString: address.href })
  // Should the test end early, the server stops under it.
  analyst.on('error', () => {})
  await analyst.connect()
  expect((await analyst.query('select * from nightferry.companies')).rows).toEqual([])
  await expect(analyst.query('select * from nightferry.company')).rejects.toMatchObject({ code: '42501' })
  await expect(analyst.query('select * from nightferry_queue.job')).rejects.toMatchObject({
    code: expect.stringMatching(/^42/),
  })

  expect(await call('grant', 'analyst', '--all', '--revoke')).toMatchObject({ code: 2, stdout: '' })
  const revoked = await call('grant', 'analyst', '--revoke', '--json')
  expect(JSON.parse(revoked.stdout)).toMatchObject({ revoked: true, role: 'analyst', now: { views: [], tables: [] } })
  await expect(analyst.query('select * from nightferry.companies')).rejects.toMatchObject({ code: '42501' })
  await analyst.end()

  const { stdout } = await call(
    'sql',
    '--json',
    "select verb, asked ->> 'role' as role from actions order by action_id",
  )
  expect(JSON.parse(stdout)).toEqual([
    { verb: 'grant', role: 'analyst' },
    { verb: 'revoke', role: 'analyst' },
  ])
}, 180_000)
