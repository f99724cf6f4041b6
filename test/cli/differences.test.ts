import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { InputDifference } from '../../src/db/tables/difference-tables.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { electricity } from '../../src/sandbox/catalogue/calculator-types.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { calculators, inputsOf } from '../sandbox/bodies.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

let world: World
/** Months for which each hotel's electricity was sent, as year, month and what was sent. */
type Sent = { partner_id: string; year: string; month: string; value: string }

async function call(...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())
}

async function night(): Promise<RunReport> {
  const { stdout, stderr } = await call('run', 'nightly-sync', '--json')
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as RunReport
}

const listed = async (...args: string[]) =>
  JSON.parse((await call('differences', '--json', ...args)).stdout) as InputDifference[]

const monthNames = 'January February March April May June July August September October November December'.split(' ')

/** Writes through the API as another integration of the same profile does, and waits for its task. */
async function behindOurBack(partnerId: string, period: { year: number; month?: string }, value: string) {
  const headers = { authorization: 'sibling-key', 'content-type': 'application/json' }
  const body = JSON.stringify(calculators([inputsOf(partnerId, period, { [electricity.id]: value })]))
  const before = await world.sandboxPool.query<{ id: string }>('select max(id) as id from sandbox.request_log')
  const answer = await fetch(`${world.sandboxUrl}/api/v1/bulk/calculators/upsert`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
  await vi.waitFor(
    async () => {
      const { rowCount } = await world.sandboxPool.query(
        `select from sandbox.request_log where id > $1 and phase = 'terminal' and path like '%/calculators/upsert'`,
        [before.rows[0]?.id],
      )
      expect(rowCount).toBe(1)
    },
    { timeout: 60_000, interval: 50 },
  )
}

let sent: Sent[]
let first: RunReport
let second: RunReport

beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 3, seed: 7 })
  first = await night()
  const { rows } = await world.pool.query<Sent>(
    `select distinct on (partner_id, n) partner_id, content ->> 'year' as year, content ->> 'month' as month, value
     from (
       select *, content -> 'inputs' ->> $1 as value,
              row_number() over (partition by partner_id order by row_key) as n
       from source_row where stream = 'calculator_inputs' and content -> 'inputs' ->> $1 is not null and content ? 'month'
     ) numbered where n <= 2 order by partner_id, n`,
    [electricity.id],
  )
  sent = rows
  const [altered, formatted, blanked] = sent
  if (!altered || !formatted || !blanked) throw new Error('the demo sends electricity by month')
  const period = ({ year, month }: Sent) => ({ year: Number(year), month: monthNames[Number(month) - 1] ?? '' })
  await behindOurBack(altered.partner_id, period(altered), '123456.75')
  await behindOurBack(formatted.partner_id, period(formatted), `${Number(formatted.value)}.000000`)
  await behindOurBack(blanked.partner_id, period(blanked), '')
  await behindOurBack(altered.partner_id, { year: 2001 }, '17')
  second = await night()
})

afterAll(() => world[Symbol.asyncDispose]())

test('a first night finds every input that it sent as it was sent', () => {
  expect(first).toMatchObject({
    verdict: 'succeeded',
    comparison: { withheld: null, absent: 0, different: 0, foreign_values: 0, unjudged: 0, unsettled: 0 },
  })
  expect(first.comparison?.inputs).toBeGreaterThan(50)
  expect(first.comparison?.equal).toBe(first.comparison?.inputs)
})

test('a night after another integration wrote over it is partial, and counts what is absent, different and foreign', () => {
  expect(second).toMatchObject({
    verdict: 'partial',
    comparison: { absent: 1, different: 1, written_differently: 1, foreign_values: 1, foreign_companies: 1, new: 2 },
    remarks: [
      'What came back is not what was sent: 1 input sent and accepted, and absent; 1 input accepted and stored differently (all new). nightferry differences lists them.',
    ],
  })
  expect(second.notices).toContainEqual(
    expect.stringMatching(/^1 input of 1 hotel at the service was never sent by us/),
  )
})

test('differences lists them with what was sent and stored, by kind and by hotel', async () => {
  const [altered, , blanked] = sent
  const place = (of: Sent | undefined) => ({
    partner_id: of?.partner_id,
    period_year: Number(of?.year),
    period_month: Number(of?.month),
    variable_name: electricity.name,
    sent: of?.value,
  })
  const different = { ...place(altered), kind: 'different', stored: '123456.75' }
  const absent = { ...place(blanked), kind: 'absent', stored: null, cause: 'value_not_returned' }
  expect(await listed()).toEqual([expect.objectContaining(different), expect.objectContaining(absent)])
  expect(await listed('--kind', 'absent')).toHaveLength(1)
  expect(await listed('--partner-id', altered?.partner_id ?? '')).toHaveLength(1)
  expect(await listed('--since', '2100-01-01')).toEqual([])
  expect(await listed('--limit', '1')).toHaveLength(1)
  expect(await listed('--kind', 'foreign')).toMatchObject([
    { partner_id: altered?.partner_id, period_year: 2001, period_month: null, sent: null, stored: '17' },
  ])
})

test('differences says in words what was compared and what to do, and writes CSV', async () => {
  const { stdout } = await call('differences')
  expect(stdout).toMatch(
    /Of [\d,]+ inputs compared: 1 sent and absent, 1 stored differently; 1 there that we never sent/,
  )
  expect(stdout).toContain('absent: not in the calculator of the period')
  expect(stdout).toMatch(/Different: somebody else wrote them/)
  const [head, ...lines] = (await call('differences', '--csv')).stdout.trim().split('\r\n')
  expect(head).toMatch(/^stream,kind,cause,partner_id,/)
  expect(lines).toHaveLength(2)
})

test.each([
  [['--kind', 'absnt'], /There is no kind absnt; there are absent, different, foreign/],
  [['--csv', '--json'], /choose one/],
])('differences %j is a usage error', async (args, words) => {
  const { code, stdout, stderr } = await call('differences', ...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(words)
})

test('trace of the hotel tells what came back otherwise', async () => {
  const { stdout } = await call('trace', sent[0]?.partner_id ?? '')
  expect(stdout).toMatch(/1 input came back otherwise than sent, or not at all\./)
  expect(stdout).toMatch(/What was sent and came back otherwise\n.* stored 123456\.75\n/)
  expect(stdout).toContain('1 input there that we never sent')
})

test('a night later what was absent was sent again, and what changes at its source settles itself', async () => {
  const [altered] = sent
  const kept = async () =>
    (await world.pool.query('select xmin::text, variable_id, kind from nightferry.input_difference order by 2, 3')).rows
  const before = await kept()
  await world.partnerPool.query(
    `update hotelier.meter_reading r set value = 4321, updated_at = now()
     from hotelier.hotel h, hotelier.meter m
     where h.hotel_id = r.hotel_id and m.meter_id = r.meter_id and m.field_type_id = $1
       and h.code = $2 and r.year = $3 and r.month = $4`,
    [electricity.id, altered?.partner_id, altered?.year, altered?.month],
  )
  expect(await night()).toMatchObject({
    verdict: 'succeeded',
    comparison: { absent: 0, different: 0, foreign_values: 1, new: 0 },
    remarks: [],
  })
  // What stands as it was found before is not written.
  expect(await kept()).toEqual(before.filter(({ kind }) => kind === 'foreign'))
})
