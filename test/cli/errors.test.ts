import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { brandProperty, otherGroup } from '../../src/sandbox/catalogue/accounts.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type Left, leftIn } from './left-in.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ hotels: 3 }))

const demo = readFileSync(demoConfig, 'utf8')
/** Nobody listens on port 1. */
const nobody = '127.0.0.1:1'

type Attempt = { args?: string[]; env?: Record<string, string>; yaml?: string }

/** Runs the job once on a database of its own, and reads what it left there. */
async function runOnce({ args = [], env = {}, yaml = demo }: Attempt): Promise<Ended & { left: Left }> {
  await using folder = await workingFolder()
  const own = await testDatabase({ template: 'empty' })
  await writeFile(join(folder.path, 'nightferry.yaml'), yaml)
  const environment = { ...world.environment(), DATABASE_URL: own.url, ...env }
  const ended = await nightferry(folder.path, ['run', 'nightly-sync', ...args], environment)
  return { ...ended, left: await leftIn(own.url) }
}

function demoWith(from: string, to: string): string {
  if (!demo.includes(from)) throw new Error(`config/demo.yaml does not hold: ${from}`)
  return demo.replace(from, to)
}

/** What a person reads on standard error besides how the run gets on. */
function messagesIn(stderr: string): string[] {
  // How the run gets on is told as it happens, with warnings such as of a call that is made again.
  const underWay = /^ {2}((reference|extract|preflight)( · .*)?$|warning: )/
  return stderr.split('\n').filter((line) => line !== '' && !underWay.test(line))
}

const nothing = { submissions: 0, rows: {}, watermarks: [] }

test.each<[string, Attempt, string, string, RegExp[]]>([
  [
    'a wrong key',
    { env: { EXCHANGE_API_KEY: 'wrong-key-4711' } },
    'reference',
    'exchange_unauthorized',
    [/unit-types/, /answered 401/, /Check the API key/],
  ],
  [
    'a service that cannot be reached',
    { env: { EXCHANGE_BASE_URL: `http://${nobody}` } },
    'reference',
    'exchange_unreachable',
    [/http:\/\/127\.0\.0\.1:1\/api/, /ECONNREFUSED/, /nothing was sent/],
  ],
  [
    'a partner database that cannot be reached',
    { env: { PARTNER_DATABASE_URL: `postgres://reader:hunter22@${nobody}/hotels` } },
    'extract',
    'partner_unreachable',
    [/127\.0\.0\.1:1\/hotels/, /ECONNREFUSED/, /PARTNER_DATABASE_URL/],
  ],
  [
    'a column that the query of a stream does not yield',
    { yaml: demoWith('h.hotel_code, h.booking_id, h.updated_at', 'h.hotel_code, h.updated_at') },
    'extract',
    'partner_query_failed',
    [/does not yield booking_id/, /Fix streams\.properties\.query/],
  ],
  [
    'a column that the table of a query does not have',
    { yaml: demoWith('h.hotel_code, h.booking_id', 'h.hotel_code, h.reservation_id as booking_id') },
    'extract',
    'partner_query_failed',
    [/column h\.reservation_id does not exist/, /Fix streams\.properties\.query/],
  ],
  [
    'a custom property that is no identifier',
    { args: ['--set', `exchange.customIdentifierId=${brandProperty.id}`] },
    'reference',
    'identifier_unusable',
    [/exchange\.customIdentifierId/, /no identifier/, /\(Partner id\)/],
  ],
  [
    'a group of another profile',
    { args: ['--set', `exchange.groupId=${otherGroup.id}`] },
    'reference',
    'group_unusable',
    [/exchange\.groupId/, /\(All hotels\)/],
  ],
])('%s fails the run with one message and leaves nothing behind', async (_, attempt, step, code, said) => {
  const { left, ...ended } = await runOnce(attempt)
  expect(ended).toMatchObject({ code: 1, signal: null, stdout: '' })
  const [head, message, ...more] = messagesIn(ended.stderr)
  expect(head).toBe(`Run 1 failed at the step ${step} (${code}):`)
  expect(more, 'one message, said once').toEqual([])
  for (const part of some(said)) expect(message).toMatch(part)
  expect(left.runs).toMatchObject([{ state: 'failed', verdict: 'failed', failure: { code, step } }])
  expect(`  ${left.runs[0]?.failure?.message}`).toBe(message)
  expect(left).toMatchObject(nothing)
  expect(ended.stderr + JSON.stringify(left)).not.toMatch(/hunter22|wrong-key-4711/)
})

test('a syntax error in one of several queries names its stream, and leaves whole streams or none', async () => {
  const { left, code, stderr } = await runOnce({
    yaml: demoWith('from hotelier.declined_question d', 'form hotelier.declined_question d'),
  })
  expect(code).toBe(1)
  expect(messagesIn(stderr)).toEqual([
    'Run 1 failed at the step extract (partner_query_failed):',
    expect.stringMatching(/stream omissions failed: syntax error .*Fix streams\.omissions\.query/),
  ])
  expect(left.submissions).toBe(0)
  expect(Object.keys(left.rows).sort(), 'rows stand only beside the watermark that covers them').toEqual(
    left.watermarks,
  )
  expect(left.watermarks).not.toContain('omissions')
})

test.each<[string, Attempt, 1 | 2, RegExp[]]>([
  [
    "Nightferry's own database that cannot be reached",
    { env: { DATABASE_URL: `postgres://ferry:hunter22@${nobody}/own` } },
    1,
    [/^nightferry: database_unreachable: /, /127\.0\.0\.1:1\/own/, /ECONNREFUSED/, /DATABASE_URL/],
  ],
  [
    'a database URL that is none',
    { env: { DATABASE_URL: 'somewhere' } },
    2,
    [/^nightferry: config_invalid: /, /database\.url: is no URL/],
  ],
  [
    'a partner database URL that is none',
    { env: { PARTNER_DATABASE_URL: 'reader:hunter22@somewhere' } },
    2,
    [/^nightferry: config_invalid: /, /partner\.url: is no URL/],
  ],
  [
    'a base address without a scheme',
    { env: { EXCHANGE_BASE_URL: 'exchange.example.com' } },
    2,
    [/^nightferry: config_invalid: /, /exchange\.baseUrl: is no address/],
  ],
  [
    'a base address with credentials',
    { env: { EXCHANGE_BASE_URL: 'https://ferry:hunter22@exchange.example.com' } },
    2,
    [/^nightferry: config_invalid: /, /exchange\.baseUrl: is no address.*without credentials/],
  ],
  [
    'broken YAML',
    { yaml: 'exchange:\n  baseUrl: "http://x\nlog: {}\n' },
    2,
    [/^nightferry: config_invalid: /, /\/nightferry\.yaml:\d+:\d+: Missing closing "quote$/m],
  ],
  [
    'an unknown setting',
    { yaml: `${demo}\nexchnage: {}` },
    2,
    [/^nightferry: config_invalid: /, /\/nightferry\.yaml/, /unknown setting exchnage/],
  ],
  [
    'an unknown setting on the command line',
    { args: ['--set', 'exchange.pollIntervall=1'] },
    2,
    [/^nightferry: config_invalid: /, /exchange\.pollIntervall: --set/],
  ],
  [
    'a secret on the command line',
    { args: ['--set', 'exchange.apiKey=hunter22'] },
    2,
    [/^nightferry: config_invalid: /, /exchange\.apiKey: secrets are not taken/],
  ],
  [
    'settings that are missing',
    { yaml: 'log: {}', env: { PARTNER_DATABASE_URL: '', EXCHANGE_BASE_URL: '', EXCHANGE_API_KEY: '' } },
    2,
    [
      /^nightferry: config_invalid: /,
      /exchange\.baseUrl: .*EXCHANGE_BASE_URL/,
      /exchange\.apiKey: .*EXCHANGE_API_KEY/,
      /exchange\.customIdentifierId: /,
      /partner\.url: .*PARTNER_DATABASE_URL/,
      /streams: /,
    ],
  ],
  [
    'a contract that is not there',
    { args: ['--set', 'exchange.contract=nowhere.yaml'] },
    2,
    [/^nightferry: contract_invalid: /, /nowhere\.yaml/],
  ],
])('%s ends before a run begins, with one message', async (_, attempt, code, said) => {
  const { left, ...ended } = await runOnce(attempt)
  expect(ended).toMatchObject({ code, signal: null, stdout: '' })
  for (const part of some(said)) expect(ended.stderr).toMatch(part)
  expect(ended.stderr.match(/nightferry: /g)).toHaveLength(1)
  expect(ended.stderr, 'no stack').not.toMatch(/^ +at /m)
  expect(ended.stderr).not.toContain('hunter22')
  expect(left).toEqual({ ...nothing, runs: [] })
})

test.each<[string, string[], RegExp]>([
  ['a verb with an argument too many after --set', ['status', '--set', 'log.level=warn', 'now'], /too many arguments/],
  [
    'an unknown job',
    ['run', 'weekly-sync'],
    /no job weekly-sync; there are .*housekeeping, and with streams nightly-sync and push/,
  ],
  ['an unknown verb', ['ferry'], /unknown command 'ferry'/],
  ['an unknown option', ['status', '--verbose'], /unknown option '--verbose'/],
  ['a number that is none', ['runs', '--limit', 'all'], /'all' is invalid.*whole number/],
  ['a configuration file that is not there', ['status', '--config', 'nowhere.yaml'], /nowhere\.yaml/],
])('%s ends with exit code 2 and says what was wrong', async (_, args, said) => {
  await using folder = await workingFolder()
  const ended = await nightferry(folder.path, args)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(said)
})

test.each([['migrate'], ['status'], ['runs'], ['rejected'], ['sql', 'select 1']])(
  '%s says which database it cannot reach, and never its password',
  async (...args) => {
    await using folder = await workingFolder()
    const ended = await nightferry(folder.path, args, { DATABASE_URL: `postgres://ferry:hunter22@${nobody}/own` })
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^nightferry: database_unreachable: .*127\.0\.0\.1:1\/own .*ECONNREFUSED.*\n$/)
    expect(ended.stderr).not.toContain('hunter22')
  },
)
