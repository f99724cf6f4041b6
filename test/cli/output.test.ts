import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { secretsIn } from '../helpers/canaries.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

/** Three hotels, every one known to the service, so that only what the second night breaks is refused. */
const hotels = 3
const seed = 7

let world: World
let nights: [Ended, Ended]

async function call(...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await call(...args, '--json')
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as T
}

beforeAll(async () => {
  world = await startWorld({ hotels, seed })
  const first = await call('run', 'nightly-sync', '--json')
  await applySecondNight(world.partnerPool, { hotels, seed, asOf: new Date() })
  nights = [first, await call('run', 'nightly-sync', '--json')]
})

afterAll(() => world[Symbol.asyncDispose]())

test('a run in which all went well exits 0, one that has rejected rows exits 3', () => {
  const [first, second] = nights.map(({ code, stdout }) => ({ code, report: JSON.parse(stdout) as RunReport }))
  expect(first).toMatchObject({ code: 0, report: { run_id: 1, verdict: 'succeeded', remarks: [] } })
  expect(second).toMatchObject({ code: 3, report: { run_id: 2, verdict: 'partial' } })
  expect(second?.report.remarks).toContain('1 row rejected by the service.')
})

test('run --json writes nothing but the report to standard output, and no log lines beside it', () => {
  for (const { stdout, stderr } of some(nights)) {
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(
      expect.arrayContaining(['streams', 'submissions', 'searches']),
    )
    expect(stderr).toMatch(/^( {2}[a-z].*\n)+$/)
  }
})

test('status --json tells the last run and the ledger', async () => {
  const { last_run, streams } = await json<{ last_run: object; streams: { stream: string; rows: number }[] }>('status')
  expect(last_run).toMatchObject({ run_id: 2, state: 'finished', verdict: 'partial', trigger: 'cli' })
  expect(streams).toContainEqual(expect.objectContaining({ stream: 'properties', rows: 4, accepted: 4, pending: 0 }))
})

test('status shows all that the last run remarks below it, and runs the first of it with how much more there is', async () => {
  const { remarks } = JSON.parse(nights[1].stdout) as RunReport
  expect(remarks.length).toBeGreaterThan(1)
  const [lastRun, ...lines] = (await call('status')).stdout.split('\n')
  expect(lastRun).toMatch(/^Last run: 2, .* finished, partial$/)
  expect(lines.slice(0, remarks.length)).toEqual(remarks.map((remark) => `  ${remark}`))
  expect((await json<{ last_run: object }>('status')).last_run).toMatchObject({ remarks })
  const listed = (await call('runs')).stdout.replaceAll(/\s+/g, ' ')
  expect(listed).toContain(`(and ${remarks.length - 1} more)`)
})

test('runs --json lists the runs, newest first, as many as asked for', async () => {
  expect(await json<object[]>('runs')).toMatchObject([{ run_id: 2 }, { run_id: 1, verdict: 'succeeded' }])
  expect(await json<object[]>('runs', '--limit', '1')).toMatchObject([{ run_id: 2 }])
})

test('submissions --json lists the requests of the last run, or of the one that is named', async () => {
  const { submissions } = JSON.parse(nights[0].stdout) as RunReport
  expect(await json<object[]>('submissions', '--run', '1')).toEqual(submissions)
  const last = await json<{ kind: string; state: string }[]>('submissions')
  expect(last.map(({ kind }) => kind)).toContain('calculators_search')
  expect(new Set(last.map(({ state }) => state))).toEqual(new Set(['settled']))
})

test.each(['rejected', 'invalid'])('%s --json names the rows in that state, with the reason', async (verb) => {
  const rows = await json<{ state: string; stream: string; reason: string }[]>(verb)
  expect(rows).toMatchObject([{ state: verb, stream: 'framework_answers', reason: expect.stringMatching(/./) }])
})

test('sql --json gives every value as the string that the server prints', async () => {
  expect(await json<object[]>('sql', 'select count(*) as companies, null as nothing from companies')).toEqual([
    { companies: '4', nothing: null },
  ])
})

test.each([
  'commit; begin read write; create table public.written (a int); commit',
  'do $$ begin commit; set transaction read write; create table public.written (a int); end $$',
  "select set_config('transaction_read_only', 'off', false)",
])('sql stays read-only, whatever is asked: %s', async (query) => {
  expect(await call('sql', query)).toMatchObject({ code: 1, stdout: '' })
  expect(await json('sql', "select to_regclass('public.written') as found")).toEqual([{ found: null }])
})

test.each([
  "copy (select 1) to program 'cat'",
  "select pg_read_file('PG_VERSION')",
  'select rolname, rolpassword from pg_authid',
])('sql can read tables and views and nothing else: %s', async (query) => {
  const { code, stdout, stderr } = await call('sql', query)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^nightferry: 42501: permission denied/)
})

test('sql shows the line of an error, a caret under its place, and what the server proposes', async () => {
  const { code, stderr } = await call('sql', 'select company_id,\n       nme\nfrom companies')
  expect({ code, said: stderr.split('\n') }).toEqual({
    code: 1,
    said: [
      'nightferry: 42703: column "nme" does not exist',
      'Line 2:        nme',
      '               ^',
      'Hint: Perhaps you meant to reference the column "companies.name".',
      '',
    ],
  })
})

test.each([
  ['sql', '--set', 'log.level=warn', 'select 1 as one'],
  ['sql', '--set', 'log.level=warn', '--set', 'partner.fetchRows=10', 'select 1 as one'],
])('--set takes one setting and leaves the arguments of the verb alone: %s', async (...args) => {
  expect(await json(...args)).toEqual([{ one: '1' }])
})

test('sql refuses to change anything', async () => {
  const { code, stdout, stderr } = await call('sql', 'delete from source_row')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^nightferry: (42501|25006): /)
})

test('sql takes one statement, so that none can make the transaction writable for the next', async () => {
  const query = 'set transaction read write; delete from stream_watermark'
  const { code, stdout, stderr } = await call('sql', query)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^nightferry: 42601: /)
  expect((await json<object[]>('sql', 'select from stream_watermark')).length).toBeGreaterThan(0)
})

test('config print gives the configuration in force in both forms, without its secrets', async () => {
  const printed = await json<{ exchange: object; database: object }>('config', 'print')
  expect(printed).toMatchObject({ exchange: { apiKey: '********', baseUrl: world.sandboxUrl, pollIntervalMs: 100 } })
  const { stdout } = await call('config', 'print')
  expect(parse(stdout)).toEqual(printed)
  for (const text of [stdout, JSON.stringify(printed)]) {
    expect(secretsIn(text)).toEqual([])
  }
})

test('the verbs that look print tables for people as well', async () => {
  for (const verb of ['status', 'runs', 'submissions', 'rejected']) {
    const { code, stdout, stderr } = await call(verb)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout, verb).toMatch(/─{20}/)
  }
})

test('a run that ends partial is a warning in the log', async () => {
  await using folder = await workingFolder()
  const { stderr } = await nightferry(folder.path, ['run', 'nightly-sync', '--json', '--config', demoConfig], {
    ...world.environment(),
    NIGHTFERRY_LOG_LEVEL: 'warn',
  })
  const lines = stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as object)
  expect(lines).toContainEqual(expect.objectContaining({ level: 40, msg: 'run_finished', verdict: 'partial' }))
})
