import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { brandProperty, partnerIdProperty, roomsProperty } from '../../src/sandbox/catalogue/accounts.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

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
  call(...args: string[]): ReturnType<typeof nightferry>
  night(): Promise<RunReport>
} & AsyncDisposable

async function place(): Promise<Place> {
  await using made = new AsyncDisposableStack()
  const world = made.use(await startWorld({ hotels: 10 }))
  const { path: folder } = made.use(await workingFolder())
  const file = join(folder, 'searches.yaml')
  const { pull, ...rest } = parse(readFileSync(demoConfig, 'utf8')) as { pull: object }
  writeFileSync(file, stringify({ ...rest, pull: { ...pull, searches } }))
  const call = (...args: string[]) => nightferry(folder, [...args, '--config', file], world.environment())
  const kept = made.move()
  return {
    world,
    call,
    night: async () => {
      const ended = await call('run', 'nightly-sync', '--json')
      expect(ended.stdout, ended.stderr).not.toBe('')
      return JSON.parse(ended.stdout) as RunReport
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** A day's work at the partner: two answers, a reading and a hotel's name. */
async function changeAtPartner(pool: pg.Pool, round: number): Promise<void> {
  await pool.query(
    `update hotelier.meter_reading set value = value + $1, updated_at = now() where hotel_id = 2 and month = 3`,
    [round],
  )
  await pool.query(
    `update hotelier.sustainability_answer set value = (value::numeric + $1)::text, updated_at = now()
     where hotel_id = 4 and value ~ '^[0-9]{2,}$'`,
    [round],
  )
}

async function heldBy(world: World): Promise<unknown[]> {
  const { rows } = await world.sandboxPool.query(
    `select to_jsonb(a)::text as row from (
       select company_id, data_point_id, period_type, year, month, value from sandbox.answer) a
     union all
     select to_jsonb(c)::text from (select company_id, year, month, inputs from sandbox.calculator where inputs <> '{}') c
     order by 1`,
  )
  return rows
}

const unequal = (report: RunReport) =>
  (report.comparison?.absent ?? 0) +
  (report.comparison?.different ?? 0) +
  report.comparisons.reduce((sum, { absent, different }) => sum + absent + different, 0)

test('after the service was restored from an older dump, the next run names what it lost, and one verb sends the rest', async () => {
  await using here = await place()
  const { world } = here
  await here.night()
  const dump = await world.dump('service')
  await changeAtPartner(world.partnerPool, 5)
  await here.night()
  const wanted = await heldBy(world)
  await world.restore('service', dump)
  expect(await heldBy(world)).not.toEqual(wanted)

  const found = await here.night()
  expect(found.verdict).toBe('partial')
  expect(unequal(found)).toBeGreaterThan(1)
  expect(found.remarks.join('\n')).toContain('nightferry differences')
  expect(await here.call('resend', '--difference', 'any')).toMatchObject({ code: 0 })
  const repaired = await here.night()
  expect(repaired.remarks.join('\n')).not.toContain('another copy')
  expect(unequal(repaired)).toBe(0)
  expect(await heldBy(world)).toEqual(wanted)
}, 400_000)

test("after Nightferry's own database was restored, runs bring the service to what the partner demands", async () => {
  await using here = await place()
  const { world } = here
  await here.night()
  const { rows: before } = await world.partnerPool.query(
    `select hotel_id, data_point_id, value from hotelier.sustainability_answer where hotel_id = 4`,
  )
  const wanted = await heldBy(world)
  const dump = await world.dump('nightferry')
  await changeAtPartner(world.partnerPool, 5)
  await here.night()
  await world.restore('nightferry', dump)
  // The partner says again what the restored ledger believes to be accepted, while the service holds what came since.
  for (const { hotel_id, data_point_id, value } of before as {
    hotel_id: number
    data_point_id: string
    value: string
  }[]) {
    await world.partnerPool.query(
      `update hotelier.sustainability_answer set value = $3, updated_at = now() where hotel_id = $1 and data_point_id = $2`,
      [hotel_id, data_point_id, value],
    )
  }
  await world.partnerPool.query(
    `update hotelier.meter_reading set value = value - 5, updated_at = now() where hotel_id = 2 and month = 3`,
  )
  expect(await heldBy(world)).not.toEqual(wanted)
  const found = await here.night()
  expect(found.verdict).toBe('partial')
  expect(found.remarks[0]).toMatch(
    /^Nightferry's database is another copy than the one of run 1: a backup was restored/,
  )
  expect(unequal(found)).toBeGreaterThan(0)
  expect(await here.call('resend', '--difference', 'any', '--also-later')).toMatchObject({ code: 0 })
  const repaired = await here.night()
  expect(repaired.remarks.join('\n')).not.toContain('another copy')
  expect(unequal(repaired)).toBe(0)
  expect(await heldBy(world)).toEqual(wanted)
}, 400_000)

test("after a copy of the files of Nightferry's database was put back, the next run says that the service took more since", async () => {
  await using here = await place()
  const { world } = here
  await here.night()
  const dump = await world.dump('nightferry')
  await changeAtPartner(world.partnerPool, 5)
  await here.night()
  await world.restore('nightferry', dump)
  // A copy of files keeps the numbers by which the database is known, which this one does not; and it is older.
  await world.pool.query(`update run set own_database = null`)
  await world.pool.query(`update submission set attempted_at = attempted_at - interval '1 day'`)
  const found = await here.night()
  expect(found.remarks.join('\n')).toMatch(/imports? of this API key that the ledger does not know.*resend --all/)
  expect((await here.night()).remarks.join('\n')).not.toContain('does not know')
}, 400_000)

test('after a copy of the disk was put back that was taken in the middle of a run, that run says that the service took more since', async () => {
  await using here = await place()
  const { world } = here
  await here.night()
  const dump = await world.dump('nightferry')
  await changeAtPartner(world.partnerPool, 5)
  await here.night()
  await world.restore('nightferry', dump)
  // As the disk had it while the run sent. The server that runs on it has just started.
  await world.pool.query(`update submission set attempted_at = attempted_at - interval '1 day'`)
  await world.pool.query(
    `update run set state = 'running', step = 'push', finished_at = null, own_database = null,
                    tasks_checked_under = tasks_checked_under - interval '1 day'`,
  )
  const found = await here.night()
  expect(found.run_id).toBe(1)
  expect(found.remarks.join('\n')).toMatch(/imports? of this API key that the ledger does not know.*resend --all/)
}, 400_000)
