import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { rowStanding } from '../../../src/db/ledger/row-standing.ts'
import { releaseResends, releaseRetries } from '../../../src/db/ledger/rows-again.ts'
import { rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { rowsToGo } from '../../../src/db/ledger/rows-to-go.ts'
import { releaseByPolicy } from '../../../src/db/ledger/rows-to-retry.ts'
import { rowsToSplit } from '../../../src/db/ledger/split-submission.ts'
import { oldestUnaccepted, statusCounts } from '../../../src/db/ledger/status-counts.ts'
import { releaseResumed } from '../../../src/db/ledger/suspended-hotels.ts'
import { needsOf } from '../../../src/db/nights/night-facts.ts'
import { streamReports } from '../../../src/db/runs/report-rows.ts'
import { parkedBehind } from '../../../src/db/runs/wave-reports.ts'
import { retryRejected } from '../../../src/pipeline/actions/act-on-rows.ts'
import { beginPilot, endPilot, resumeHotels, suspendHotels } from '../../../src/pipeline/actions/suspend-hotels.ts'
import { countPending } from '../../../src/pipeline/preflight/preflight.ts'
import { imbalances } from '../../../src/pipeline/report/report.ts'
import { countNewlyParked, noteParked } from '../../../src/rehearsal/result/newly-parked.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
const requires = { properties: [], framework_answers: ['properties'] }
const carried = Object.keys(requires)
const mappingKind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }
const by = { actor: { user: 'ada', host: 'ferry' }, at: new Date('2026-11-21T02:00:00Z'), unknown: false }
const property = (partner_id: string, name = partner_id) => ({ partner_id, content: { name } })

const suspend = (...hotels: string[]) => suspendHotels(ledger.db, { ...by, hotels, reason: 'sold' })
const resume = (...hotels: string[]) => resumeHotels(ledger.db, { ...by, hotels })
const pilot = (...hotels: string[]) => beginPilot(ledger.db, { ...by, hotels, reason: 'go-live' })

/** The hotels of which a run plans rows; their requests end at once. */
async function plannedIn(run: number): Promise<string[]> {
  const submissions = await ledger.plan(run, { ...mappingKind, requires, sweep: true })
  const keys = []
  for (const id of submissions) {
    keys.push(...(await ledger.keysOf(id)))
    await ledger.settleAll(id, 'confirmed')
  }
  return keys.sort()
}

/** What the next run plans, which takes note of what people resumed. */
async function plannedNext(): Promise<string[]> {
  const run = await ledger.startRun()
  await releaseResumed(ledger.db)
  return await plannedIn(run)
}

beforeEach(async () => {
  await ledger.clear()
  await ledger.landChecked(
    'properties',
    ['H-1', 'H-2', 'H-3'].map((id) => property(id)),
  )
})

it('a hotel is suspended for all lists and counts alike, and its rows need nobody', async () => {
  await noteParked(ledger.db, requires)
  await suspend('H-1', 'H-2')
  const about = { code: 'requires_suspended', reason: expect.stringContaining('by ada: sold') }
  expect(await rowsInState(ledger.db, 'parked', { requires, limit: 10 })).toMatchObject([about, about])
  expect(await needsOf(ledger.db, requires)).toEqual([
    { state: 'suspended', rows: 2, hotels: 2 },
    { state: 'pending', rows: 1, hotels: 1 },
  ])
  expect(await statusCounts(ledger.db, requires)).toMatchObject([{ pending: 3, parked: 2, suspended: 2 }])
  expect(await parkedBehind(ledger.db, requires)).toMatchObject([
    { rows: 2, required: 'hotel', requirement_state: 'suspended' },
  ])
  expect(await countNewlyParked(ledger.db, requires)).toBe(0)
  expect(await rowsToGo(ledger.db, await ledger.startRun(), requires, carried, [])).toBe(1)
  expect(await oldestUnaccepted(ledger.db, requires)).toEqual((await ledger.row('properties', 'H-3')).changed_at)
  await suspend('H-3')
  expect(await oldestUnaccepted(ledger.db, requires)).toBeNull()
})

it('a hotel that is resumed while a run is under way goes with the next one, and the counts of both add up', async () => {
  const run = await ledger.startRun()
  await suspend('H-1')
  await ledger.db
    .insertInto('run_stream')
    .values({
      run_id: run,
      stream: 'properties',
      read: 3,
      folded: 0,
      unchanged: 0,
      changed: 3,
      null_cursor: 0,
      capture: 'cursor',
      protection: 'overlap',
      gone: 0,
      returned: 0,
    })
    .execute()
  await countPending(ledger.db, run)
  expect(await plannedIn(run)).toEqual(['H-2', 'H-3'])
  await resume('H-1')
  expect(await plannedIn(run)).toEqual([])
  const streams = await ledger.inTransaction((trx) => streamReports(trx, run, requires))
  expect(streams).toMatchObject([{ pending: 3, sent: 2, parked: 1, suspended: 1 }])
  expect(imbalances(streams)).toEqual([])
  expect(await plannedNext()).toEqual(['H-1'])
})

it('a hotel that is suspended again before the next run stays suspended, with the newer reason', async () => {
  await suspend('H-1')
  await resume('H-1')
  expect(await suspendHotels(ledger.db, { ...by, hotels: ['H-1'], reason: 'audit' })).toMatchObject({
    suspended: ['H-1'],
  })
  expect(await plannedNext()).toEqual(['H-2', 'H-3'])
  const [row] = await rowsInState(ledger.db, 'parked', { requires, limit: 10 })
  expect(row?.reason).toContain('by ada: audit')
})

/** How many wait until they may change who is suspended. */
async function waitsForSuspensions(): Promise<number> {
  const { rows } = await sql`
    select from pg_locks where not granted and relation = 'suspended_hotel'::regclass`.execute(ledger.db)
  return rows.length
}

it('a cut that is under way is waited for, and its requests are named to the person who suspends', async () => {
  const run = await ledger.startRun()
  const { promise: planned, resolve: tell } = Promise.withResolvers<void>()
  const { promise: may, resolve: goOn } = Promise.withResolvers<void>()
  const cutting = ledger.inTransaction(async (trx) => {
    const { planKind } = await import('../../../src/db/ledger/plan-kind.ts')
    const [id = 0] = await planKind(trx, {
      ...mappingKind,
      runId: run,
      kindStreams: ['properties'],
      requires,
      judgesProperties: false,
      maxRows: 100,
      requests: 10,
      sweep: true,
    })
    tell()
    await may
    return id
  })
  await planned
  const suspending = suspend('H-1')
  await expect.poll(waitsForSuspensions).toBe(1)
  goOn()
  const id = await cutting
  expect(await suspending).toMatchObject({
    on_the_way: [{ partner_id: 'H-1', submission_id: id, stream: 'properties' }],
  })
  expect(await rowsToGo(ledger.db, run, requires, carried, []), 'what is on its way is still to come').toBe(3)
  await ledger.markSent(id)
  const left = await ledger.inTransaction((trx) => rowsToSplit(trx, id, requires))
  expect(left, 'while it is in flight').toEqual([])
  await sql`delete from held_property`.execute(ledger.db)
  const split = await ledger.inTransaction((trx) => rowsToSplit(trx, id, requires))
  expect(split.map(({ target }) => target)).toEqual(['partner H-2', 'partner H-3'])
})

it('a split that is under way is waited for, so that no half carries a hotel that is said to be suspended', async () => {
  const [id = 0] = await ledger.plan(await ledger.startRun(), { ...mappingKind, requires, sweep: true })
  await ledger.markSent(id)
  await sql`delete from held_property`.execute(ledger.db)
  const { promise: read, resolve: tell } = Promise.withResolvers<void>()
  const { promise: may, resolve: goOn } = Promise.withResolvers<void>()
  const splitting = ledger.inTransaction(async (trx) => {
    const rows = await rowsToSplit(trx, id, requires)
    tell()
    await may
    return rows.length
  })
  await read
  const suspending = suspend('H-1')
  await expect.poll(waitsForSuspensions).toBe(1)
  goOn()
  expect(await splitting).toBe(3)
  expect((await suspending).suspended).toEqual(['H-1'])
})

it('marks of a retry and a resend stay while the hotel is suspended, and no policy sends its rows', async () => {
  await ledger.landChecked(
    'framework_answers',
    ['H-1', 'H-2'].map((id) => property(id)),
    true,
  )
  await sql`update acceptance set outcome = 'rejected', outcome_code = 'Busy', outcome_at = now() - interval '1 day',
              refused_hash = wanted_hash
            from source_row row where row.row_id = acceptance.row_id and stream = 'properties'`.execute(ledger.db)
  await suspend('H-1')
  const policy = { stream: null, code: 'Busy', after_ms: 0, times: 1 }
  expect(await releaseByPolicy(ledger.db, carried, [policy], new Date())).toBe(2)
  await sql`update acceptance set refused_hash = wanted_hash, resent_count = 0 where outcome = 'rejected'`.execute(
    ledger.db,
  )
  await retryRejected({ db: ledger.db, now: () => new Date() }, carried, {}, by.actor)
  await ledger.askResend({ stream: 'framework_answers' })
  expect(await releaseResends(ledger.db, requires, carried)).toBe(1)
  expect(await releaseRetries(ledger.db, carried)).toBe(2)
  expect(await ledger.row('framework_answers', 'H-1')).toMatchObject({ pending: false })
  expect(await ledger.row('framework_answers', 'H-2')).toMatchObject({ pending: true })
  await resume('H-1')
  await releaseResumed(ledger.db)
  expect(await releaseResends(ledger.db, requires, carried)).toBe(1)
  expect(await releaseRetries(ledger.db, carried)).toBe(1)
})

it('rows of a suspended hotel are not compared with what a search shows', async () => {
  await ledger.landChecked(
    'properties',
    ['H-1', 'H-2', 'H-3'].map((id) => property(id)),
    true,
  )
  await sql`update acceptance set accepted_at = now() - interval '1 day'`.execute(ledger.db)
  const standings = async () => {
    const { rows } = await sql<{ row_key: string; standing: string }>`
      select row_key, ${rowStanding(carried)} as standing
      from ledger row, (select now() as planned_at, 9::bigint as submission_id) search order by 1`.execute(ledger.db)
    return some(rows).map(({ standing }) => standing)
  }
  expect(await standings()).toEqual(['settled', 'settled', 'settled'])
  await suspend('H-1')
  expect(await standings()).toEqual(['silent', 'settled', 'settled'])
})

it('a pilot suspends hotels that come later, and keeps those suspended by their ids when it ends', async () => {
  await pilot('H-2')
  await ledger.landChecked('properties', [property('H-4')])
  expect(await plannedNext()).toEqual(['H-2'])
  await suspend('H-1')
  await resume('H-4')
  const run = await ledger.startRun()
  expect(await plannedIn(run), 'a run that has counted its rows').toEqual([])
  expect(await plannedNext()).toEqual(['H-4'])
  await endPilot(ledger.db, by)
  const waiting = await rowsInState(ledger.db, 'parked', { requires, limit: 10 })
  expect(Object.fromEntries(some(waiting).map(({ partner_id, code }) => [partner_id, code]))).toEqual({
    'H-1': 'requires_suspended',
    'H-3': 'requires_next_run',
  })
  expect(await plannedNext()).toEqual(['H-3'])
  await resume('H-1')
  expect(await plannedNext()).toEqual(['H-1'])
})

it('another list takes the place of a pilot, and hotels that are in both go on in the run under way', async () => {
  await pilot('H-1', 'H-2')
  const run = await ledger.startRun()
  await pilot('H-2', 'H-3')
  expect(await plannedIn(run)).toEqual(['H-2'])
  expect(await plannedNext()).toEqual(['H-3'])
})

it('a hotel of the same company that goes on being sent is named', async () => {
  const [submission] = await ledger.plan(await ledger.startRun(), mappingKind)
  await sql`
    insert into mapping (partner_id, company_id, submission_id)
    select partner_id, '7d3a2c1e-0000-4000-8000-000000000001', ${submission}
    from unnest(array['H-1', 'H-2']) partner_id`.execute(ledger.db)
  expect((await suspend('H-1')).same_company).toMatchObject([{ partner_id: 'H-1', other: 'H-2' }])
  expect((await suspend('H-2')).same_company).toEqual([])
})

it('a pilot may have more hotels than a statement takes parameters', { timeout: 120_000 }, async () => {
  const hotels = Array.from({ length: 70_000 }, (_, number) => `N-${number}`)
  const asked = { ...by, hotels, unknown: true, reason: 'go-live' }
  expect((await beginPilot(ledger.db, asked)).hotels).toHaveLength(70_000)
  const fewer = await beginPilot(ledger.db, { ...asked, hotels: hotels.slice(0, 69_999) })
  expect(fewer.hotels).toHaveLength(69_999)
  const members = await ledger.db.selectFrom('pilot_hotel').select('partner_id').execute()
  expect(members).toHaveLength(69_999)
})

it('a refusal names the first twenty hotels that nobody knows, and says how many more there are', async () => {
  const refused = suspend(...Array.from({ length: 50_000 }, (_, number) => `N-${String(number).padStart(5, '0')}`))
  await expect(refused).rejects.toThrow(/nothing was ever read of N-00000, .*, N-00019 and 49980 more;/)
})
