import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PartnerTrace } from '../../src/db/trace/trace-partner.ts'
import { applySecondNight, type SecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const hotels = 3
const seed = 7
/** A hotel that the service cannot match: nothing of what is known of it is known there. */
const stranger = 'H-0999'

let world: World
let day: SecondNight

async function call(...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())
}

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await call(...args)
  expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: '' })
  return stdout
}

async function json<T>(...args: string[]): Promise<T> {
  return JSON.parse(await said(...args, '--json')) as T
}

type Listed = { state: string; stream: string; partner_id: string; code: string; reason: string; retry_asked: boolean }
type Trace = Omit<PartnerTrace, 'rows'> & {
  in_short: string[]
  rows: { stream: string; state: string; outcome: string; reason: string; rows: { changes: object[] }[] }[]
}

async function night(): Promise<RunReport> {
  const { stdout, stderr } = await call('run', 'nightly-sync', '--json')
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as RunReport
}

beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels, seed })
  await night()
  day = await applySecondNight(world.partnerPool, { hotels, seed, asOf: new Date() })
  await world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name) values (999, $1, 'Nobody heard of it');`,
    [stranger],
  )
  await world.partnerPool.query(
    `insert into hotelier.calculation_setting (hotel_id, automatic_yearly_calculation, automatic_publishing)
     values (999, true, false)`,
  )
  await night()
})

afterAll(() => world[Symbol.asyncDispose]())

describe('trace', () => {
  test('tells of a renamed hotel what it was called, how the name travelled, and that a result file confirms it', async () => {
    const id = day.renamed[0] ?? ''
    const story = await json<Trace>('trace', id)
    const { rows } = await world.partnerPool.query<{ name: string }>(
      'select name from hotelier.hotel where code = $1',
      [id],
    )
    const property = story.rows.find(({ stream }) => stream === 'properties')
    expect(property).toMatchObject({
      state: 'accepted',
      outcome: 'confirmed',
      rows: [
        {
          changes: [
            { differences: expect.arrayContaining([expect.objectContaining({ field: 'name', to: rows[0]?.name })]) },
          ],
        },
      ],
    })
    const mappings = story.submissions.filter(({ kind }) => kind === 'company_mappings')
    expect(mappings).toMatchObject([
      { run_id: 1, state: 'settled', task_status: 'Success', confirmed: 1 },
      { run_id: 2, state: 'settled', confirmed: 1 },
    ])
    const text = await said('trace', id)
    expect(text).toContain(`'${rows[0]?.name}'`)
    for (const { correlation_id } of some(mappings)) expect(text).toContain(correlation_id)
    expect(text).toMatch(/properties, 1 row: accepted since .*confirmed by a result file/)
  })

  test('trace is read from top to bottom: what there is, the mapping, the rows, the requests, what came back', async () => {
    const text = await said('trace', day.renamed[0] ?? '')
    const heads = [
      'Hotel H-',
      "What the partner's database has",
      'What changed there',
      'Its mapping',
      'What became of each row',
      'How it travelled',
      'What came back',
    ]
    const places = heads.map((head) => text.indexOf(`${head}`))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
  })

  test('tells of a rejected hotel which value the service rejected, and in its own words', async () => {
    const id = day.rejectedByService[0] ?? ''
    const story = await json<Trace>('trace', id)
    const [refused] = await json<Listed[]>('rejected', '--partner-id', id, '--stream', 'framework_answers')
    expect(story.rows).toContainEqual(
      expect.objectContaining({ stream: 'framework_answers', state: 'rejected', reason: refused?.reason }),
    )
    expect(refused?.reason).toMatch(/outside the range/)
    expect(await said('trace', id)).toContain(refused?.reason)
  })

  test('tells of a hotel that waits which mapping it waits for, and why that is not there', async () => {
    const { in_short, company, rows } = await json<Trace>('trace', stranger)
    expect(company).toBeNull()
    expect(in_short[0]).toBe('0 of 2 rows are accepted.')
    expect(rows).toMatchObject([
      { stream: 'properties', state: 'rejected', code: 'NotFound' },
      { stream: 'calculator_settings', state: 'parked', code: 'requires_rejected' },
    ])
    expect(rows[1]?.reason).toMatch(/^its properties row was rejected by the service \(NotFound: /)
    const text = await said('trace', stranger)
    expect(text).toMatch(/Its mapping\n {2}none, and 1 row waits for it: rejected by the service since /)
    expect(text).toMatch(/Nothing: it is not mapped\./)
    const parked = await said('parked')
    expect(parked).toMatch(/^H-0999 +1 +calculator_settings +requires_rejected +its properties row was rejected/m)
    expect(parked).toMatch(/^1 row of 1 hotel is parked\. --rows lists each row\.$/m)
    expect(await said('parked', '--rows')).toMatch(
      /^H-0999 +calculator_settings .* requires_rejected +its properties row/m,
    )
  })

  test('finds a hotel by its company at the service, and says when none or several are mapped to it', async () => {
    const id = day.renamed[0] ?? ''
    const { company } = await json<Trace>('trace', id)
    const companyId = company?.company_id ?? ''
    expect(await said('trace', companyId.toUpperCase())).toBe(await said('trace', id))
    const nowhere = await call('trace', '11111111-1111-4111-8111-111111111111')
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringMatching(/No hotel is mapped to the company 1111/) })
    const { submission_id } = (
      await world.pool.query<{ submission_id: number }>('select submission_id from nightferry.mapping limit 1')
    ).rows[0] ?? { submission_id: 0 }
    await world.pool.query(
      'insert into nightferry.mapping (partner_id, company_id, submission_id, mapped_at) values ($1, $2, $3, now())',
      [stranger, companyId, submission_id],
    )
    try {
      const several = await call('trace', companyId)
      expect(several).toMatchObject({ code: 2, stdout: '' })
      expect(several.stderr).toContain(`2 hotels are mapped to the company ${companyId}: ${id}, ${stranger}. Trace one`)
    } finally {
      await world.pool.query('delete from nightferry.mapping where partner_id = $1', [stranger])
    }
  })

  test('counts the calculators that came back as the views have them', async () => {
    const id = day.renamed[0] ?? ''
    const { company } = await json<Trace>('trace', id)
    const { rows } = await world.pool.query<{ count: number }>(
      `select count(*) as count from nightferry.calculators join nightferry.companies using (company_id)
       where partner_id = $1 and calculators.removed_at is null`,
      [id],
    )
    expect(company?.calculators).toBe(rows[0]?.count)
    expect(company?.calculators).toBeGreaterThan(0)
  })

  test.each([
    ['H-4711', /Nothing was ever read of a hotel 'H-4711'\. Ids are .* such as H-0001, H-0002/],
    ['h-0001', /Was H-0001 meant\?/],
    ["'; drop table run; --", /Nothing was ever read of a hotel ''; drop table run; --'/],
  ])('trace says of the unknown id %s what ids look like, and exits 2', async (id, words) => {
    const { code, stdout, stderr } = await call('trace', id)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(words)
  })
})

describe('rejected, invalid, parked and unknown', () => {
  test('each list the rows in that state and no others', async () => {
    const listed = await Promise.all(['rejected', 'invalid', 'parked', 'unknown'].map((verb) => json<Listed[]>(verb)))
    expect(
      listed.map((rows) => rows.map(({ state, stream, partner_id }) => `${state} ${stream} ${partner_id}`).sort()),
    ).toEqual([
      [`rejected framework_answers ${day.rejectedByService[0]}`, `rejected properties ${stranger}`],
      [`invalid framework_answers ${day.invalidHere[0]}`],
      [`parked calculator_settings ${stranger}`],
      [],
    ])
  })

  test('rejected, invalid, parked and unknown are narrowed down by the options together', async () => {
    const narrow = ['--stream', 'properties', '--partner-id', stranger, '--since', '1h', '--reason', 'notfound']
    expect(await json<Listed[]>('rejected', ...narrow)).toHaveLength(1)
    expect(await json<Listed[]>('rejected', ...narrow, '--since', '2100-01-01')).toHaveLength(0)
  })

  test.each([
    [
      ['rejected', '--since', '2100-01-01'],
      'No rejected row passes --since; nightferry rejected without that lists all',
    ],
    [['invalid', '--stream', 'omissions'], 'No invalid row passes --stream; nightferry invalid without that lists all'],
    [['unknown', '--stream', 'omissions'], 'No row whose fate is unknown passes --stream; nightferry unknown without'],
    [['parked', '--rows', '--stream', 'omissions'], 'No parked row passes --stream; nightferry parked without that'],
    [['drift', '--stream', 'omissions'], 'Nothing of omissions is known to be at the service and gone here;'],
    [['rejected', '--partner-id', 'H-0001', '--reason', 'nobody says so'], 'passes --partner-id and --reason'],
    [['parked', '--reason', 'row was rejected'], 'not in the sentence.'],
    [['differences', '--since', '2100-01-01'], 'passes --since; nightferry differences without that lists all'],
    [['changes', '--since', '2100-01-01'], 'passes --since; nightferry changes without that lists'],
  ])('%j finds nothing, and says that it was asked for less than all', async (args, words) => {
    const answer = await said(...args)
    expect(answer).toContain(words)
    expect(answer).not.toMatch(/The service has rejected nothing|^Nothing is (invalid|parked)|There is no row/m)
  })

  test.each([
    'rejected',
    'invalid',
    'unknown',
    'parked',
    'parked --rows',
    'differences',
    'changes',
    'retry',
    'resend',
    'accept-removals',
    'restore',
  ])('%s refuses a hotel of which nothing was ever read, as trace does', async (verb) => {
    const wrong = await call(...verb.split(' '), '--partner-id', 'h-0001')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain("Nothing was ever read of a hotel 'h-0001'. Was H-0001 meant?")
  })

  test('--csv has a line per row, under the names of its columns', async () => {
    const [head, ...lines] = (await said('rejected', '--csv')).split('\r\n')
    expect(head).toBe(
      'partner_id,stream,row_key,row,code,reason,submission_id,correlation_id,at,retry_asked,policy_after',
    )
    expect(lines).toHaveLength(3)
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${stranger},properties,`)))
  })

  test.each(['--json', '--csv'])('rejected %s says on standard error that the list was cut', async (form) => {
    const { code, stdout, stderr } = await call('rejected', form, '--limit', '1')
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'The newest 1; --limit shows more.\n' })
    expect(form === '--csv' ? stdout.trim().split('\r\n').slice(1) : JSON.parse(stdout)).toHaveLength(1)
    expect((await call('rejected', form, '--limit', '100')).stderr).toBe('')
  })

  test.each([
    [['rejected', '--stream', 'propertys'], /There is no stream propertys; there are properties, /],
    [['rejected', '--since', 'yesterday'], /A time is wanted, such as 12h/],
    [['parked', '--csv', '--json'], /choose one/],
    [['retry'], /Say which rows/],
    [['retry', '--all', '--dry-run', '--run'], /choose one/],
  ])('%j is a usage error', async (args, words) => {
    const { code, stdout, stderr } = await call(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(words)
  })
})

describe('retry', () => {
  const actions = async () =>
    (await world.pool.query('select * from nightferry.actions order by action_id')).rows as object[]

  test('--dry-run says how many and which, and changes nothing', async () => {
    const { total, streams, rows } = await json<{ total: number; streams: object[]; rows: object[] }>(
      'retry',
      '--all',
      '--dry-run',
    )
    expect({ total, streams }).toEqual({
      total: 2,
      streams: [
        { stream: 'framework_answers', rows: 1, suspended: 0 },
        { stream: 'properties', rows: 1, suspended: 0 },
      ],
    })
    expect(rows).toHaveLength(2)
    expect((await json<Listed[]>('rejected')).map(({ retry_asked }) => retry_asked)).toEqual([false, false])
    expect(await actions()).toEqual([])
  })

  test('sends what is marked once with the next run, and not again when it is rejected again', async () => {
    const id = day.rejectedByService[0] ?? ''
    const { total } = await json<{ total: number }>('retry', '--partner-id', id, '--reason', 'outside the range')
    expect(total).toBe(1)
    expect(await actions()).toEqual([
      expect.objectContaining({ verb: 'retry', rows: 1, asked: { partnerId: id, reason: 'outside the range' } }),
    ])
    expect((await actions())[0]).toHaveProperty('acted_by', expect.stringMatching(/./))
    expect(await said('rejected', '--partner-id', id)).toContain('retried by the next run')
    expect((await json<{ total: number }>('retry', '--partner-id', id)).total, 'a second time marks nothing').toBe(0)
    expect(await actions()).toHaveLength(1)

    const sentOf = ({ streams }: RunReport) => streams.find(({ stream }) => stream === 'framework_answers')
    expect(sentOf(await night())).toMatchObject({ pending: 2, sent: 1, rejected: 1, withheld: 0, invalid: 1 })
    expect(sentOf(await night())).toMatchObject({ pending: 2, sent: 0, withheld: 1, invalid: 1 })
    const { submissions } = await json<Trace>('trace', id)
    const refusals = submissions.filter(({ rejected }) => rejected > 0)
    expect(refusals.map(({ run_id }) => run_id)).toEqual([2, 3])
  })

  test('--run sends at once, and exits as a run does', async () => {
    const id = day.rejectedByService[0] ?? ''
    const { code, stdout } = await call('retry', '--partner-id', id, '--run', '--json')
    expect(code).toBe(3)
    const { total, run } = JSON.parse(stdout) as { total: number; run: RunReport }
    expect(total).toBe(1)
    expect(run.streams.find(({ stream }) => stream === 'framework_answers')).toMatchObject({ sent: 1, rejected: 1 })
  })
})
