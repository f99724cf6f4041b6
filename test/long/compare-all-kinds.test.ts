import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { brandProperty, partnerIdProperty, roomsProperty } from '../../src/sandbox/catalogue/accounts.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { temporaryFile } from '../config/temporary-file.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, packagedContract, startWorld, type World, type WorldOptions } from '../helpers/world.ts'

const searches = [
  {
    name: 'our_companies',
    search: 'companiesSearch',
    body: { customPropertyIds: [partnerIdProperty.id, brandProperty.id, roomsProperty.id] },
  },
  { name: 'our_holders', search: 'standardHoldersSearch' },
  { name: 'our_answers', search: 'frameworkAnswersSearch' },
]

type Place = {
  world: World
  night(settings?: object): Promise<RunReport>
  call(...args: string[]): ReturnType<typeof nightferry>
} & AsyncDisposable

/** The demonstration with searches that show every kind of row. */
async function place(asked: readonly object[] = searches, options: Partial<WorldOptions> = {}): Promise<Place> {
  await using made = new AsyncDisposableStack()
  const world = made.use(await startWorld({ hotels: 12, ...options }))
  const { path: folder } = made.use(await workingFolder())
  const file = join(folder, 'searches.yaml')
  const write = (settings: object) => {
    const { pull, ...rest } = parse(readFileSync(demoConfig, 'utf8')) as { pull: object }
    writeFileSync(file, stringify({ ...rest, pull: { ...pull, searches: asked }, ...settings }))
  }
  write({})
  const call = (...args: string[]) => nightferry(folder, [...args, '--config', file], world.environment())
  const kept = made.move()
  return {
    world,
    call,
    night: async (settings = {}) => {
      write(settings)
      const ended = await call('run', 'nightly-sync', '--json')
      expect(ended.stderr).not.toContain('nightferry:')
      return JSON.parse(ended.stdout) as RunReport
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const compared = (report: RunReport) =>
  Object.fromEntries(
    report.comparisons.map(({ kind, rows, equal, absent, different, withheld }) => [
      kind,
      { asSent: equal === rows, absent, different, withheld },
    ]),
  )

const whole = { asSent: true, absent: 0, different: 0, withheld: null }

test('what the service lost of any kind is found, sent again by the next run, and told once', async () => {
  await using here = await place()
  const { sandboxPool } = here.world
  await here.night()
  const first = await here.night()
  expect(compared(first)).toEqual({ answers: whole, property_values: whole, standard_holders: whole, mappings: whole })
  const counted = await Promise.all(
    ['answer', 'omission', 'property_value', 'standard_holder', 'identifier'].map(async (name) => {
      const { rows } = await sandboxPool.query(`select count(*)::integer as rows from sandbox.${name}`)
      return [name, rows[0]]
    }),
  )
  // One of each kind is lost.
  for (const [name, key] of [
    ['answer', 'ctid'],
    ['omission', 'ctid'],
    ['property_value', 'ctid'],
    ['standard_holder', 'ctid'],
    ['identifier', 'ctid'],
  ]) {
    await sandboxPool.query(
      `delete from sandbox.${name} where ${key} = (select ${key} from sandbox.${name} order by 1 limit 1)`,
    )
  }
  const second = await here.night()
  expect(compared(second)).toEqual({
    answers: { asSent: false, absent: 2, different: 0, withheld: null },
    property_values: { asSent: false, absent: 1, different: 0, withheld: null },
    standard_holders: { asSent: false, absent: 1, different: 0, withheld: null },
    mappings: { asSent: false, absent: 1, different: 0, withheld: null },
  })
  expect(second.verdict).toBe('partial')
  const listed = JSON.parse((await here.call('differences', '--json')).stdout) as { stream: string; kind: string }[]
  expect(listed.map(({ stream, kind }) => `${stream} ${kind}`).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'custom_property_values absent',
    'framework_answers absent',
    'omissions absent',
    'properties absent',
    'standard_holders absent',
  ])

  const third = await here.night()
  expect(compared(third)).toEqual({ answers: whole, property_values: whole, standard_holders: whole, mappings: whole })
  for (const [name, rows] of some(counted)) {
    const { rows: now } = await sandboxPool.query(`select count(*)::integer as rows from sandbox.${String(name)}`)
    expect([name, now[0]]).toEqual([name, rows])
  }
  const { rows: actions } = await here.world.pool.query(
    `select count(*)::integer as repairs from action where verb = 'repair' and acted_by = 'nightferry'`,
  )
  expect(actions).toEqual([{ repairs: 5 }])
}, 300_000)

test('what a search did not ask for is not absent, whatever the configuration asks for when it is compared', async () => {
  const asking = (...ids: string[]) =>
    searches.map((search, at) => (at === 0 ? { ...search, body: { customPropertyIds: ids } } : search))
  await using here = await place(asking(partnerIdProperty.id))
  const { run_id } = await here.night()
  await here.world.pool.query(
    `update run set state = 'running', step = 'compare', finished_at = null, verdict = null, report = null where run_id = $1`,
    [run_id],
  )
  // As if the run had died before it compared.
  await here.world.pool.query('delete from row_comparison')
  const { pull } = parse(readFileSync(demoConfig, 'utf8')) as { pull: object }
  const report = await here.night({ pull: { ...pull, searches } })
  expect(report.run_id).toBe(run_id)
  expect(compared(report)).toMatchObject({ property_values: { absent: 0, different: 0, withheld: null } })
}, 240_000)

test('a different value is sent again only where push.repair says so, and never over a later change', async () => {
  await using here = await place()
  const { sandboxPool, pool } = here.world
  await here.night()
  const numbered = (order: string) => `(company_id, data_point_id, period_type, year, month) = (
    select company_id, data_point_id, period_type, year, month from sandbox.answer where value ? 'number'
    order by 1 ${order}, 2 ${order}, 3, 4, 5 limit 1)`
  await sandboxPool.query(
    `update sandbox.answer set value = '{"number": 4242}', changed_at = now() - interval '30 days'
     where ${numbered('asc')}`,
  )
  await sandboxPool.query(
    `update sandbox.answer set value = '{"number": 4343}', changed_at = now() + interval '1 hour'
     where ${numbered('desc')}`,
  )
  const count = async () =>
    (
      await sandboxPool.query<{ old: number; late: number }>(
        `select count(*) filter (where value = '{"number": 4242}')::integer as old,
                count(*) filter (where value = '{"number": 4343}')::integer as late from sandbox.answer`,
      )
    ).rows[0]
  await here.night()
  await here.night()
  expect(await count()).toEqual({ old: 1, late: 1 })
  expect((await pool.query('select from row_difference where kind = $1', ['different'])).rowCount).toBe(2)
  const send = { push: { repair: { framework_answers: 'send' } } }
  const held = await here.night({ ...send, guard: { minRows: 1, maxChangedShare: 0 } })
  const verb = 'nightferry resend --stream framework_answers --difference different --beyond-guard'
  expect(held.remarks.join('\n')).toMatch(new RegExp(`1 rows of framework_answers are different .+: ${verb} sends`))
  const asked = await here.call(...verb.split(' ').slice(1), '--dry-run')
  expect(asked.stdout).toMatch(/^1 row would be sent again .+\n1 more row has that difference, .+ --also-later\.\n/)
  await here.night(send)
  await here.night(send)
  expect(await count()).toEqual({ old: 0, late: 1 })
  expect(await here.call(...verb.split(' ').slice(1))).toMatchObject({ code: 0 })
  await here.night()
  expect(await count()).toEqual({ old: 0, late: 1 })
  expect(await here.call(...verb.split(' ').slice(1), '--also-later')).toMatchObject({ code: 0 })
  await here.night()
  expect(await count()).toEqual({ old: 0, late: 0 })
}, 400_000)

test('absent rows beyond the guard are named and not sent again by themselves; a verb sends them', async () => {
  await using here = await place()
  const { sandboxPool } = here.world
  await here.night()
  const count = async () =>
    (await sandboxPool.query<{ rows: number }>('select count(*)::integer as rows from sandbox.standard_holder')).rows[0]
      ?.rows
  const wanted = await count()
  await sandboxPool.query(
    'delete from sandbox.standard_holder where ctid in (select ctid from sandbox.standard_holder limit 4)',
  )
  const left = await count()
  const settings = { guard: { minRows: 3, maxChangedShare: 0.2 } }
  const found = await here.night(settings)
  const stays = 'rows of standard_holders are absent at the service, more than the guard lets through at once'
  expect(found.remarks.join('\n')).toContain(`4 ${stays}`)
  await here.night(settings)
  expect(await count()).toBe(left)
  const verb = ['resend', '--stream', 'standard_holders', '--difference', 'absent']
  expect(await here.call(...verb)).toMatchObject({ code: 2 })
  expect(await here.call(...verb, '--beyond-guard')).toMatchObject({ code: 0 })
  await here.night(settings)
  expect(await count()).toBe(wanted)
}, 400_000)

test('a kind whose pages are laid out otherwise than the contract assumes is not compared', async () => {
  // The service has the periods of a company under another name than Nightferry's contract.
  const contractFile = temporaryFile(
    readFileSync(packagedContract, 'utf8').replace(
      'periods: { name: periods, source: assumed',
      'periods: { name: reportingPeriods, source: assumed',
    ),
    'contract.yaml',
  )
  await using here = await place(searches, { hotels: 8, contractFile })
  const report = await here.night()
  const answers = report.comparisons.find(({ kind }) => kind === 'answers')
  expect(answers?.withheld).toContain('not laid out as config/contract.yaml assumes')
  expect(answers?.withheld).toContain('reportingPeriods')
  expect(report.remarks.join('\n')).not.toContain('absent')
  expect((await here.world.pool.query('select from row_difference')).rowCount).toBe(0)
}, 240_000)

test('a kind that no search shows is named as not compared, and is no reason for a remark', async () => {
  await using here = await place([])
  const report = await here.night()
  expect(report.comparisons.map(({ kind, withheld }) => [kind, withheld !== null])).toEqual([
    ['answers', true],
    ['mappings', true],
    ['property_values', true],
    ['standard_holders', true],
  ])
  expect(report.verdict).toBe('succeeded')
}, 240_000)

test('resend sends accepted rows again, guarded and recorded', async () => {
  await using here = await place([])
  const { pool, sandboxPool } = here.world
  await here.night()
  const dry = await here.call('resend', '--partner-id', 'H-0002', '--dry-run')
  expect(dry.stdout).toMatch(/rows would be sent again/)
  const { rows: wanted } = await pool.query<{ rows: number }>(
    `select count(*)::integer as rows from ledger where partner_id = 'H-0002'`,
  )
  await sandboxPool.query(
    `delete from sandbox.answer where company_id = (select company_id from sandbox.identifier where value = 'H-0002')`,
  )
  expect(await here.call('resend', '--partner-id', 'H-0002')).toMatchObject({ code: 0 })
  const report = await here.night()
  expect(report.verdict).toBe('succeeded')
  expect(report.streams.reduce((sum, { sent }) => sum + sent, 0)).toBe(wanted[0]?.rows)
  const { rows: there } = await sandboxPool.query<{ rows: number }>(
    `select count(*)::integer as rows from sandbox.answer
     where company_id = (select company_id from sandbox.identifier where value = 'H-0002')`,
  )
  expect(there[0]?.rows).toBeGreaterThan(5)
  const { rows: actions } = await pool.query(`select verb, rows::integer, asked from action where verb = 'resend'`)
  expect(actions).toEqual([{ verb: 'resend', rows: wanted[0]?.rows, asked: { partnerId: 'H-0002' } }])
  const those = async (...args: string[]) => {
    const { stdout } = await here.call('resend', ...args, '--dry-run', '--json')
    return (JSON.parse(stdout) as { total: number }).total
  }
  const ledger = async (condition: string) =>
    (await pool.query<{ rows: number }>(`select count(*)::integer as rows from ledger where ${condition}`)).rows[0]
      ?.rows
  expect(await those('--stream', 'properties')).toBe(await ledger(`stream = 'properties'`))
  expect(await those('--submission', '1')).toBe(
    await ledger('row_id in (select row_id from submission_row where submission_id = 1)'),
  )
  expect(await those('--since', '1h')).toBe(await ledger('true'))
  expect(await those('--since', '2099-01-01')).toBe(0)
  const all = await here.call('resend', '--all')
  expect(all.code).toBe(2)
  expect(all.stderr).toContain('--beyond-guard')
}, 240_000)
