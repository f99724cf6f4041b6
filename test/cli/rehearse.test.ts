import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Rehearsal, renderRehearsal } from '../../src/cli/show/render-rehearsal.ts'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { dataPointsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { hotelAt } from '../../src/sandbox/hotels.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const seed = 7
/** Three nights on a machine that has other work, in milliseconds. */
const patienceMs = 900_000
const id = (number: number) => hotelAt(seed, number).partnerId
const pointNamed = (title: string) => catalogue.frameworks.flatMap(dataPointsOf).find((point) => point.title === title)
const pointId = (title: string) => pointNamed(title)?.id ?? ''
const anything = '11111111-2222-4333-8444-555555555555'

type Named = {
  stream: string
  partner_id: string
  row_key: string
  code: string | null
  ground: string
  reason: string
}
type Rehearsed = {
  night: { refused: Named[]; kept: Named[]; back: { companies: number }; forecast: { tasks: number }; run_id: number }
  failure: unknown
  mirror: { from: string; notSeen: string[] }
  copy: { database: string | null; bytes: number }
  notes: string[]
}

const world = await ofThisFile(startWorld({ hotels: 12, seed }))
const folder = await ofThisFile(workingFolder())

async function call(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return await nightferry(folder.path, [...args, '--config', demoConfig], { ...world.environment(), ...env })
}

/** A question that no framework has, an option of another list, and so on: what a tired person does to a table. */
async function plantMistakes(): Promise<void> {
  const { partnerPool, sandboxPool } = world
  const answer = (hotel: number, set: string, values: unknown[]) =>
    partnerPool.query(`update hotelier.sustainability_answer set ${set} where hotel_id = $1 and data_point_id = $2`, [
      hotel,
      pointId('Employees'),
      ...values,
    ])
  const employees = (hotel: number, value: string) => answer(hotel, 'value = $3', [value])
  // 1: a hotel that the service does not know.
  await partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name, hotel_code) values (9001, 'H-9001', 'Nowhere Inn', 'NOWHERE1')`,
  )
  // 2 and 3: a standard and a level that are on no list.
  await partnerPool.query(
    `insert into hotelier.certificate (hotel_id, standard_id, level, start_date) values (1, $1, null, '2025-01-01')`,
    [anything],
  )
  await partnerPool.query(
    `insert into hotelier.certificate (hotel_id, standard_id, level, start_date) values (2, $1, 'Platinum', '2025-01-01')
     on conflict (hotel_id, standard_id) do update set level = excluded.level`,
    [catalogue.standards[0]?.id],
  )
  // 4: a company that the profile may not use any more.
  await sandboxPool.query(
    `delete from group_company where company_id = (select company_id from identifier where value = $1)`,
    [id(3)],
  )
  await employees(3, '31')
  // 5: an id that names nothing any more.
  await sandboxPool.query('delete from identifier where value = $1', [id(4)])
  await employees(4, '41')
  // 6: an option that is none of the list's. 7: a unit that the data point does not take. 8: no number.
  await partnerPool.query(
    `insert into hotelier.sustainability_answer (hotel_id, data_point_id, period_type, year, value) values (5, $1, 'Yearly', 2019, $2)`,
    [pointId('Waste streams sorted'), JSON.stringify([anything])],
  )
  await partnerPool.query(
    `insert into hotelier.sustainability_answer (hotel_id, data_point_id, period_type, year, value, unit_id) values (6, $1, 'Yearly', 2019, '5', $2)`,
    [pointId('Share of renewable electricity'), catalogue.unitTypes[0]?.units[0]?.id],
  )
  await employees(7, 'about a dozen')
  // 9: a question that there is not.
  await partnerPool.query(
    `insert into hotelier.declined_question (hotel_id, question_id, period_type, year) values (8, $1, 'Yearly', 2019)`,
    [anything],
  )
  // 10: beyond a limit that the service keeps to itself.
  await employees(10, '2000000')
}

/** Whether the service has each row of the ledger, and why not. */
async function states(databaseUrl: string): Promise<Map<string, string>> {
  const pool = createPool(databaseUrl, {
    max: 1,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  try {
    const { rows } = await pool.query<{ row: string; state: string }>(
      `select stream || ' ' || row_key as row,
              case when accepted_hash = desired_hash then 'accepted' when invalid_reason is not null then 'invalid'
                   when refused_hash = desired_hash then 'refused' else 'pending' end as state
       from ledger where gone_at is null`,
    )
    return new Map(rows.map(({ row, state }) => [row, state]))
  } finally {
    await pool.end()
  }
}

describe('a rehearsal of a night with ten planted mistakes', () => {
  let rehearsed: Rehearsed
  let copyUrl: string
  let asked: { method: string; path: string }[]
  let runsBefore: number
  let runsAfter: number
  const runs = async () =>
    (await world.pool.query<{ runs: number }>('select count(*)::int as runs from run')).rows[0]?.runs ?? 0

  beforeAll(async () => {
    expect((await call(['run', 'nightly-sync', '--json'])).stdout).toContain('"verdict"')
    await plantMistakes()
    const { rows } = await world.sandboxPool.query<{ last: string }>('select max(id) as last from request_log')
    runsBefore = await runs()
    copyUrl = (await testDatabase({ template: 'empty' })).url
    const lost = await world.pool.query<{ id: string }>(
      `insert into submission (run_id, kind, state, row_count, attempted_at, uncertain_since, payload_bytes)
       select max(run_id), 'company_mappings', 'uncertain', 0, now() - interval '7 hours', now() - interval '7 hours', 100
       from run returning submission_id as id`,
    )
    const ended = await call(['rehearse', '--json', '--keep'], { REHEARSAL_DATABASE_URL: copyUrl })
    await world.pool.query('delete from submission where submission_id = $1', [lost.rows[0]?.id])
    expect(ended.code, ended.stderr).toBe(3)
    rehearsed = JSON.parse(ended.stdout) as Rehearsed
    runsAfter = await runs()
    const log = await world.sandboxPool.query<{ method: string; path: string }>(
      `select method, path from request_log where id > $1 and phase = 'received'`,
      [rows[0]?.last],
    )
    asked = log.rows
  }, patienceMs)

  test('sends the service nothing but GET requests and searches, and leaves the ledger as it was', () => {
    for (const { method, path } of some(asked)) expect(method === 'GET' || path.endsWith('/search')).toBe(true)
    expect(runsAfter).toBe(runsBefore)
  })

  test('a rehearsal of a night gives up a request of an earlier one whose answer was lost, of which it has no body', () => {
    expect(rehearsed.notes.join('\n')).toContain('Requests of earlier nights that have not ended: 1')
  })

  test('names every row that the specification makes refusable, with its ground', () => {
    const named = rehearsed.night.refused.map(({ stream, partner_id, ground }) => `${stream} ${partner_id} ${ground}`)
    expect(named.toSorted()).toEqual(
      [
        'properties H-9001 stated',
        `standard_holders ${id(1)} stated`,
        `standard_holders ${id(2)} stated`,
        `framework_answers ${id(3)} stated`,
        `framework_answers ${id(4)} stated`,
      ].toSorted(),
    )
  })

  test('names what Nightferry would keep back, and not what only the service can know', () => {
    const kept = rehearsed.night.kept.map(({ stream, partner_id }) => `${stream} ${partner_id}`)
    expect(kept.toSorted()).toEqual(
      [
        `framework_answers ${id(5)}`,
        `framework_answers ${id(6)}`,
        `framework_answers ${id(7)}`,
        `omissions ${id(8)}`,
      ].toSorted(),
    )
    expect(rehearsed.mirror.notSeen.join('\n')).toContain('limits of numbers')
  })

  test('learns from the tasks of earlier nights how long tonight would take', () => {
    expect(rehearsed.night.forecast.tasks).toBeGreaterThan(0)
    expect(rehearsed.copy.bytes).toBeGreaterThan(0)
    expect(rehearsed.night.back.companies).toBeGreaterThan(0)
  })

  test(
    'a rehearsal of a night with ten planted mistakes says which of its lists are cut, in JSON and in words',
    async () => {
      await using empty = await testDatabase({ template: 'empty' })
      const ended = await call(['rehearse', '--json', '--limit', '2'], { REHEARSAL_DATABASE_URL: empty.url })
      const cut = JSON.parse(ended.stdout) as Rehearsal
      const { night } = cut
      expect(night).toMatchObject({ refusedMore: true, keptMore: true })
      expect([night?.refused.length, night?.kept.length]).toEqual([2, 2])
      expect(rehearsed.night).toMatchObject({ refusedMore: false, keptMore: false })
      const [first] = night?.refused ?? []
      if (night === null || first === undefined) throw new Error('nothing was refused')
      const refused = [first, { ...first, ground: 'assumed' as const }]
      const told = renderRehearsal({ ...cut, night: { ...night, refused } }, 2)
      expect(told).toContain('as its specification states (at least 1)')
      expect(told).toContain('Only the newest 2 of the rows that would be refused are named; --limit names more.')
      expect(told).toContain('because it cannot be right (at least 2)')
      const whole = renderRehearsal({ ...cut, night: { ...night, refused, refusedMore: false, keptMore: false } }, 2)
      expect(whole).toContain('as its specification states (1)')
      expect(whole).not.toContain('--limit')
    },
    patienceMs,
  )

  test(
    'a rehearsal of a night with ten planted mistakes is agreed with by the real run, row by row, but for what the service keeps to itself',
    async () => {
      await call(['run', 'nightly-sync', '--json'])
      const [there, here] = [await states(copyUrl), await states(world.databaseUrl)]
      const differing = [...new Set([...there.keys(), ...here.keys()])].filter(
        (row) => there.get(row) !== here.get(row),
      )
      expect(there.size).toBeGreaterThan(100)
      expect(differing.map((row) => [row.split(' ')[0], there.get(row), here.get(row)])).toEqual([
        ['framework_answers', 'accepted', 'refused'],
      ])
      expect(differing[0]).toContain(id(10))
    },
    patienceMs,
  )
})

test('rehearse refuses a database that holds something already, and a world without the identifier', async () => {
  const used = await call(['rehearse'], { REHEARSAL_DATABASE_URL: world.databaseUrl })
  expect(used).toMatchObject({ code: 1, stderr: expect.stringContaining('rehearsal_database_in_use') })
  await using empty = await testDatabase({ template: 'empty' })
  const other = ['rehearse', '--set', `exchange.customIdentifierId=${randomUUID()}`]
  const mirrored = await call(other, { REHEARSAL_DATABASE_URL: empty.url })
  expect(mirrored).toMatchObject({ code: 2, stderr: expect.stringContaining('exchange.customIdentifierId') })
  expect((await readdir(folder.path, { recursive: true })).filter((name) => name.includes('rehearsal'))).toEqual([])
})

test('rehearse mirrors the service into a file without its key, which a sandbox serves with the same ids', async () => {
  const file = join(folder.path, 'mirror.world')
  const ended = await call(['sandbox', '--mirror', file, '--json'])
  expect(ended.code, ended.stderr).toBe(0)
  const text = await readFile(file, 'utf8')
  expect(text).not.toContain(world.environment().EXCHANGE_API_KEY)
  const [head = '', ...companies] = text.trimEnd().split('\n')
  expect(JSON.parse(head)).toMatchObject({ world: 1, groups: [{ id: catalogue.groupId }] })
  expect(JSON.parse(ended.stdout)).toMatchObject({ companies: companies.length })
  const { rows } = await world.sandboxPool.query<{ id: string }>(
    'select distinct company_id as id from group_company where group_id = $1 order by 1',
    [catalogue.groupId],
  )
  expect(companies.map((line) => (JSON.parse(line) as { id: string }).id).toSorted()).toEqual(rows.map((row) => row.id))
})
