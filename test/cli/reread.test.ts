import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

// Each of these tests starts some ten processes, one after another.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

let world: World
let folder: Awaited<ReturnType<typeof workingFolder>>
let config: string
beforeAll(async () => {
  folder = await workingFolder()
  config = join(folder.path, 'own.yaml')
  // Hotels as a snapshot, everything else by cursor, and an overlap that reads nothing twice.
  const demo = readFileSync(demoConfig, 'utf8').replace('cursor: updated_at', 'capture: snapshot')
  writeFileSync(config, demo.replace('url: embedded:partner_demo', 'url: embedded:partner_demo\n  overlapMs: 0'))
  world = await startWorld({ migrated: true, hotels: 4, seed: 7 })
  expect((await night()).verdict).not.toBe('failed')
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const call = (...args: string[]) => nightferry(folder.path, [...args, '--config', config], world.environment())
const night = async () => JSON.parse((await call('run', 'nightly-sync', '--json')).stdout) as RunReport
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name)
const actions = async () =>
  (await world.pool.query(`select verb, rows, asked, result from actions where verb = 'reread' order by action_id`))
    .rows
const sourceRows = async (stream: string) =>
  (
    await world.pool.query<{ rows: number }>(
      'select count(*)::int as rows from source_row where stream = $1 and gone_at is null',
      [stream],
    )
  ).rows[0]?.rows ?? 0

test('what would be read again is said first and changes nothing', async () => {
  const { code, stdout } = await call('reread', 'framework_answers', '--dry-run')
  expect(code).toBe(0)
  expect(stdout).toMatch(/would read all of framework_answers again and compare it with the \d+ rows known/)
  expect(stdout).toContain('Nothing was changed.')
  expect(await actions()).toEqual([])
  expect(streamOf(await night(), 'framework_answers')?.whole).toBeNull()
})

test('what is gone is not promised to be found where the query yields only what changed lately, unless it is a snapshot', async () => {
  const never = join(folder.path, 'never.yaml')
  const all = readFileSync(config, 'utf8')
  writeFileSync(never, all.replaceAll(/^ {2}(omissions|properties):$/gm, '$&\n    fullEvery: never'))
  const said = async (stream: string) =>
    (await nightferry(folder.path, ['reread', stream, '--dry-run', '--config', never], world.environment())).stdout
  expect(await said('omissions')).toContain(
    'what is gone is not found but for new rows that the guard holds and rows with a code that no lookup knows, because the query yields only what changed lately (fullEvery: never)',
  )
  expect(await said('omissions')).not.toContain('gone is found too')
  expect(await said('properties')).toContain('what is gone is found too')
})

test('a stream is read whole again, finds a row that was damaged here and one that was deleted there, and is recorded', async () => {
  const known = await sourceRows('framework_answers')
  await world.pool.query(`
    update source_row set content = content || '{"value": "lost"}', desired_hash = '\\x00'
    where row_id = (select min(row_id) from source_row where stream = 'framework_answers')`)
  await world.partnerPool.query(`
    delete from hotelier.sustainability_answer
    where ctid = (select ctid from hotelier.sustainability_answer order by updated_at offset 1 limit 1)`)
  expect(streamOf(await night(), 'framework_answers')).toMatchObject({ changed: 0, gone: 0 })
  expect(await call('reread', 'framework_answers')).toMatchObject({ code: 0, stderr: '' })
  expect(await actions()).toEqual([
    {
      verb: 'reread',
      rows: known,
      asked: { stream: 'framework_answers' },
      result: 'the next run reads all of it',
    },
  ])
  const report = await night()
  expect(streamOf(report, 'framework_answers')).toMatchObject({ whole: 'reread', gone: 1 })
  expect(streamOf(report, 'omissions')?.whole).toBeNull()
  const { rows } = await world.pool.query(
    `select 1 from source_row where content ->> 'value' = 'lost' and gone_at is null`,
  )
  expect(rows).toEqual([])
  expect(streamOf(await night(), 'framework_answers')?.whole).toBeNull()
})

test('a stream is read again from a date on, and no further back', async () => {
  const { rows } = await world.partnerPool.query<{ since: string; rows: number }>(`
    select (max(updated_at) - interval '5 days')::text as since,
           (select count(*)::int from hotelier.certificate
            where updated_at >= (select max(updated_at) - interval '5 days' from hotelier.certificate)) as rows
    from hotelier.certificate`)
  const [{ since, rows: younger } = { since: '', rows: 0 }] = rows
  const cut = new Date(new Date(since).getTime()).toISOString()
  expect(await call('reread', 'standard_holders', '--since', cut)).toMatchObject({ code: 0, stderr: '' })
  const stream = streamOf(await night(), 'standard_holders')
  expect(stream).toMatchObject({ whole: null, changed: 0 })
  // The millisecond at which texts are cut may bring one more.
  expect(stream?.read).toBeGreaterThanOrEqual(younger)
  expect(stream?.read).toBeLessThan((await sourceRows('standard_holders')) + 1)
  expect(await actions()).toMatchObject([{}, { asked: { stream: 'standard_holders', since: cut } }])
})

test('a snapshot is compared with the ledger again', async () => {
  await world.pool.query(`update source_row set gone_at = now() where stream = 'properties' and partner_id = 'H-0001'`)
  expect(streamOf(await night(), 'properties')).toMatchObject({ returned: 0 })
  expect(await call('reread', 'properties')).toMatchObject({ code: 0 })
  expect(streamOf(await night(), 'properties')).toMatchObject({ whole: 'reread', returned: 1 })
})

test.each([
  [['reread', 'property'], /There is no stream property/],
  [['reread', 'properties', '--since', '3d'], /read as a snapshot, whole each time/],
  [['reread', 'omissions', '--since', '41'], /41 is no value of the cursor of omissions, whose watermark is 20/],
  [['reread', 'omissions', '--since', '2099-01-01'], /not before the watermark of omissions/],
])('%j is refused, and says why', async (args, words) => {
  const before = await actions()
  const { code, stderr } = await call(...args)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(words) })
  expect(await actions()).toEqual(before)
})

test('a run names the streams that were not read up to --since yet, and reads them from where they stand', async () => {
  const args = ['--only', 'extract', '--stream', 'omissions', '--stream', 'properties', '--since', '2099-01-01']
  const { code, stderr } = await call('run', 'nightly-sync', ...args)
  expect(code, stderr).toBe(0)
  expect(stderr.match(/^\w+ was read up to 20\S+ .*, before --since 2099-01-01: .*$/gm)).toEqual([
    expect.stringMatching(/^omissions /),
  ])
})

test('reread refuses while a run reads the streams, and forgets nothing', async () => {
  const { rows } = await world.pool.query<{ run_id: number }>(`
    insert into run (job, trigger, scheduled_for, state, step)
    values ('nightly-sync', 'cli', now() - interval '1 minute', 'running', 'extract') returning run_id`)
  const { code, stderr } = await call('reread', 'omissions')
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/Run \d+ is reading the streams/) })
  await world.pool.query('delete from run where run_id = $1', [rows[0]?.run_id])
})

test('the report of a run says that the cursor of a stream was changed, and the run goes through', async () => {
  const changed = readFileSync(config, 'utf8').replace(
    /(declined_question d[\s\S]*?)cursor: updated_at/,
    '$1cursor: year',
  )
  writeFileSync(config, changed)
  const report = await night()
  expect(report.verdict).not.toBe('failed')
  expect(streamOf(report, 'omissions')).toMatchObject({ whole: 'cursor', protection: 'none' })
  expect(report.notices).toContainEqual(
    expect.stringMatching(
      /^The cursor of omissions was changed \(was updated_at \(timestamp with time zone\) and is year \((integer|smallint)\)\)/,
    ),
  )
})
