import { execFileSync } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { logWithoutRows, withoutRows } from '../../src/support/support-file.ts'
import { canaries, secretsIn } from '../helpers/canaries.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ hotels: 6 }))
const folder = await ofThisFile(workingFolder())
let hotels: string[]

beforeAll(async () => {
  // Hotels whose rows are refused stand in reports and messages.
  await world.partnerPool.query(`update hotelier.sustainability_answer set value = 'Unmistakable words of a guest'
    where ctid in (select ctid from hotelier.sustainability_answer limit 3)`)
  await world.partnerPool.query(`update hotelier.hotel set hotel_code = null, booking_id = null, latitude = null, longitude = null,
    name = 'Nobody knows this house' where hotel_id = 2`)
  const { rows } = await world.partnerPool.query<{ code: string; name: string }>(
    'select code, name from hotelier.hotel',
  )
  hotels = [...rows.flatMap(({ code, name }) => [code, name]), 'Unmistakable words']
  await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], env())
})

const hook = 'https://hooks.example.com/services/T0C4NARY/planted-token-91'
const env = () => ({ ...world.environment(), NIGHTFERRY_NOTIFY_URL: hook })

async function bundle(name: string, more: string[] = [], environment: Record<string, string> = env()) {
  const ended = await nightferry(
    folder.path,
    ['support', '--config', demoConfig, '--out', `${name}.tar.gz`, ...more],
    environment,
  )
  expect(ended.stderr).toBe('')
  const into = join(folder.path, name)
  execFileSync('mkdir', ['-p', into], { env: {} })
  execFileSync('/usr/bin/env', ['tar', '-xzf', join(folder.path, `${name}.tar.gz`), '-C', into], {
    env: { PATH: '/usr/bin:/bin' },
  })
  const files = await readdir(join(into, 'nightferry-support'))
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(join(into, 'nightferry-support', file), 'utf8')] as const),
  )
  return { ended, texts: new Map(texts) }
}

const logLine = (text: string) =>
  `${JSON.stringify({ level: 40, time: '2026-11-23T02:31:00.000Z', run_id: 1, error: text, msg: 'look_failed' })}\n`

describe('the bundle', () => {
  test('the bundle is an archive that only its owner can read, with all that was asked for', async () => {
    await writeFile(
      join(folder.path, 'service.log'),
      `${logLine(`hotel ${hotels[0]} said ${canaries.apiKey}`)}plain words of H-0001\n`,
    )
    const { texts } = await bundle('one', ['--log', 'service.log'])
    expect((await stat(join(folder.path, 'one.tar.gz'))).mode & 0o777).toBe(0o600)
    expect([...texts.keys()].sort()).toEqual([
      'configuration.yaml',
      'doctor.json',
      'ledger.json',
      'log.txt',
      'migrations.json',
      'queue.json',
      'runs.json',
      'server.json',
      'submissions.json',
      'tables.json',
      'versions.json',
    ])
    for (const [name, text] of texts) expect([name, text.includes('not_gathered')]).toEqual([name, false])
    expect(JSON.parse(texts.get('runs.json') ?? '')).toMatchObject([
      { run_id: 1, state: 'finished', verdict: 'partial' },
    ])
    expect(texts.get('configuration.yaml')).toContain('select h.code as partner_id')
    expect(texts.get('log.txt')).toContain('"msg":"look_failed"')
    expect(texts.get('log.txt')).toContain('(1 lines that are no JSON were left out')
    expect((JSON.parse(texts.get('submissions.json') ?? '[]') as unknown[]).length).toBeGreaterThan(3)
  })
  test('holds no secret, in any encoding, and with rows neither', async () => {
    for (const [name, more] of [
      ['two', []],
      ['three', ['--with-rows', '--log', 'service.log']],
    ] as const) {
      const { texts } = await bundle(name, [...more])
      for (const [file, text] of some([...texts])) {
        expect([file, secretsIn(text)]).toEqual([file, []])
        expect([file, text.includes('planted-token')]).toEqual([file, false])
      }
    }
  })
  test('a short password is in no line of the log, in one that is no JSON, or not whole, neither', async () => {
    const lines = [
      'plain words of postgres://me:sh0rt-1@h/d',
      'it is 5" wide',
      '{"msg":"x","error":"sh0rt-1"}',
      '{"msg":"cut","error":"sh0rt-1',
      '{"msg":"cut","er{"msg":"begun again","error":"sh0rt-1"}',
    ]
    await writeFile(join(folder.path, 'foreign.log'), `${lines.join('\n')}\n`)
    const { texts } = await bundle('seven', ['--with-rows', '--log', 'foreign.log'], {
      EXCHANGE_API_KEY: canaries.apiKey,
      EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
      DATABASE_URL: 'postgres://me:sh0rt-1@127.0.0.1:1/own',
      PARTNER_DATABASE_URL: 'postgres://me:sh0rt-1@127.0.0.1:1/theirs',
    })
    expect(texts.get('log.txt')).toBe(`${lines.join('\n').replaceAll('sh0rt-1', '********')}\n`)
  })
  test('names no hotel and quotes no row, unless that was asked for', async () => {
    const { texts } = await bundle('four', ['--log', 'service.log'])
    for (const [file, text] of some([...texts])) {
      expect([file, hotels.filter((word) => text.includes(word))]).toEqual([file, []])
    }
    const open = await bundle('five', ['--with-rows'])
    expect(hotels.some((word) => open.texts.get('runs.json')?.includes(word))).toBe(true)
  })
  test('the bundle is written where nothing can be reached, and says what could not be gathered', async () => {
    const { texts } = await bundle('six', [], {
      EXCHANGE_API_KEY: canaries.apiKey,
      EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
      DATABASE_URL: 'postgres://me:planted-own-77@127.0.0.1:1/own',
      PARTNER_DATABASE_URL: 'postgres://me:planted-partner-88@127.0.0.1:1/theirs',
    })
    expect(texts.get('runs.json')).toContain('not_gathered')
    expect(texts.get('doctor.json')).toContain('"partner_reached"')
    expect([...texts.values()].join()).not.toContain('planted-')
  })
  test.each([
    ['no setting', 'exchange: { pollIntervalMs: soon, apiKey: planted-in-a-file-5 }\n'],
    ['no YAML', 'exchange:\n  apiKey: *planted-in-a-file-7\n'],
  ])('the bundle is written with a configuration that is %s, whose secrets it does not show', async (what, text) => {
    await writeFile(join(folder.path, 'broken.yaml'), text)
    const { texts } = await bundle(what.replace(' ', '-'), ['--config', 'broken.yaml'], {
      EXCHANGE_API_KEY: 'planted-in-environment-6',
    })
    expect(texts.get('configuration.yaml')).toContain('# It cannot be read:')
    expect([...texts.values()].join()).not.toContain('planted-')
  })
  test('a file that is there is left, unless it is forced', async () => {
    const args = ['support', '--config', demoConfig, '--out', 'one.tar.gz']
    const ended = await nightferry(folder.path, args, env())
    expect([ended.code, ended.stderr.includes('exists already')]).toEqual([2, true])
    expect((await nightferry(folder.path, [...args, '--force'], env())).code).toBe(0)
  })
})

test('the file for support keeps only numbers, times and words of ours of what could come from a row', () => {
  const at = '2026-11-23T02:31:00.000Z'
  const value = {
    run_id: 4,
    stream: 'properties',
    at,
    remarks: ['Hotel Ritz'],
    byHotel: { 'H-1': { rows: 2 } },
    code: 'x_y',
    name: 'Ritz',
  }
  expect(JSON.stringify(withoutRows(value))).toBe(
    `{"run_id":4,"stream":"properties","at":"${at}","remarks":["(left out; --with-rows keeps it)"],"(left out 5)":{"(left out 1)":{"rows":2}},"code":"x_y","name":"(left out; --with-rows keeps it)"}`,
  )
  const quoting = {
    code: 'Hotel Ritz is unknown',
    error_code: 'task_error',
    unmatched_examples: [{ code: 'not_matched', why: 'it names H-1' }],
    streams: [
      { held: { examples: [{ before: { status: 'ritz' }, after: { code: 'ritz' } }] }, content: { kind: 'x' } },
    ],
  }
  const left = '"(left out; --with-rows keeps it)"'
  expect(JSON.stringify(withoutRows(quoting))).toBe(
    `{"code":${left},"error_code":"task_error","unmatched_examples":${left},"streams":[{"held":{"examples":${left}},"content":${left}}]}`,
  )
  expect(logWithoutRows('{"msg":"run_failed","reason":"Ritz"}\n\n')).toBe(
    '{"msg":"run_failed","reason":"(left out; --with-rows keeps it)"}\n',
  )
})
