import { sql } from 'kysely'
import { expect, it } from 'vitest'
import type { OldKind } from '../../src/db/housekeeping/old-kinds.ts'
import { countOld, removeOld } from '../../src/db/housekeeping/remove-old.ts'
import { traceRows, traceSubmissions } from '../../src/db/trace/trace-rows.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { openLedger, requestElsewhere } from './ledger/ledger.ts'

const hotels = 24
const dayMs = 86_400_000
const firstNight = new Date('2025-01-01T02:00:00Z')
const nightOf = (night: number) => new Date(firstNight.getTime() + night * dayMs)

const kinds: readonly OldKind[] = ['payloads', 'past_contents', 'reports', 'submission_rows', 'submissions', 'runs']
const growing = ['run', 'run_stream', 'submission', 'submission_row', 'submission_payload', 'row_change'] as const

const ledger = await ofThisFile(openLedger())

/**
 * Nights as the tables keep them, each on its day: in the first every hotel is sent, in the others six of the first
 * twenty. Every request has a part that it was split into.
 */
async function playNights(from: number, to: number): Promise<void> {
  const day = sql`${firstNight}::timestamptz + night * interval '1 day'`
  await sql`
    with began as (
      insert into run (job, trigger, scheduled_for, state, step, verdict, report, started_at, finished_at)
      select 'nightly-sync', 'schedule', ${day}, 'finished', 'report', 'succeeded', '{}', ${day}, ${day}
      from generate_series(${from}::int, ${to}::int) night order by night
      returning run_id, started_at
    ), sent as (
      insert into submission (run_id, kind, state, row_count, planned_at, attempted_at, settled_at)
      select run_id, 'company_mappings', 'settled', 6, started_at, started_at, started_at from began
      returning submission_id, run_id, planned_at
    ), parts as (
      insert into submission (run_id, kind, state, row_count, planned_at, settled_at, parent_id, root_id, depth)
      select run_id, 'company_mappings', 'settled', 6, planned_at, planned_at, submission_id, submission_id, 1 from sent
      returning submission_id, planned_at
    ), bodies as (
      insert into submission_payload (submission_id, ordinal, piece) select submission_id, 1, 'body' from sent
    ), read as (
      insert into run_stream (run_id, stream, read, folded, unchanged, changed, null_cursor)
      select run_id, 'properties', 6, 0, 0, 6, 0 from began
    ), past as (
      insert into row_change (row_id, changed_at, content_before, hash_before)
      select row_id, planned_at, content, 'before'::bytea from sent cross join (
        select row_id, content from source_row order by row_id limit 6) first_rows
    )
    insert into submission_row (submission_id, row_id, sent_hash, outcome)
    select submission_id, row_id, desired_hash, 'confirmed'
    from parts cross join lateral (select extract(day from planned_at - ${firstNight}::timestamptz)::int as night) n
    join (select row_id, desired_hash, row_number() over (order by row_id) - 1 as place from source_row) row
      on night = 0 or (place < ${hotels - 4} and (place + night * 14) % ${hotels - 4} < 6)`.execute(ledger.db)
  await sql`
    update acceptance set outcome_submission = last.submission_id, outcome = 'confirmed', accepted_at = now()
    from (select row_id, max(submission_id) as submission_id from submission_row group by row_id) last
    where last.row_id = acceptance.row_id`.execute(ledger.db)
}

async function keepHouse(night: number): Promise<void> {
  const before = new Date(nightOf(night).getTime() - 30 * dayMs)
  for (const kind of kinds) {
    // What an earlier kind gave free shows only afterwards, so the count is taken right before.
    const counted = await countOld(ledger.db, kind, before)
    expect([kind, counted.rows > 0, counted.oldest, counted.bytes > 0]).toEqual([kind, true, expect.any(Date), true])
    expect([kind, await removeOld(ledger.db, kind, before)]).toEqual([kind, counted.rows])
    expect([kind, (await countOld(ledger.db, kind, before)).rows]).toEqual([kind, 0])
  }
}

async function sizes(): Promise<number[]> {
  const counts = []
  for (const table of growing) {
    const { rows } = await sql<{ count: number }>`select count(*) from ${sql.table(table)}`.execute(ledger.db)
    counts.push(Number(rows[0]?.count))
  }
  return counts
}

const traced = async () => {
  const told = []
  for (let number = 0; number < hotels; number++) {
    const rows = await traceRows(ledger.db, `H-${number}`, {}, [])
    const { rows: submissions } = await traceSubmissions(ledger.db, `H-${number}`)
    told.push(
      ...rows.map(({ state, outcome, content, submission_id, accepted_at }) => {
        const carrier = submissions.find((one) => one.submission_id === submission_id)
        return { number, state, outcome, content, accepted_at, carrier: carrier?.submission_id ?? null }
      }),
    )
  }
  return told
}

it('the tables stay flat over six hundred nights, and every row keeps the request that settled it', async () => {
  await ledger.landChecked(
    'properties',
    Array.from({ length: hotels }, (_, number) => ({ partner_id: `H-${number}`, content: { code: `${number}` } })),
  )
  await playNights(0, 299)
  const before = await traced()
  expect(new Set(some(before).map(({ carrier }) => carrier)).size).toBeGreaterThan(3)
  await keepHouse(299)
  const first = await sizes()
  expect(await traced()).toEqual(before)
  await playNights(300, 599)
  const grown = await sizes()
  await keepHouse(599)
  expect(await sizes()).toEqual(first)
  for (const [index, table] of growing.entries()) expect(grown[index], table).toBeGreaterThan((first[index] ?? 0) + 290)
  // The first night still settles the hotels that never changed since: it stays, with their rows alone.
  const { rows } = await sql<{ rows: number }>`
    select count(*)::int as rows from submission_row
    where submission_id = (select min(submission_id) from submission_row)`.execute(ledger.db)
  expect(rows).toEqual([{ rows: 4 }])
  expect((await traced()).every(({ carrier }) => carrier !== null)).toBe(true)
  const tally = await sql<{ runs: number }>`
    select sum(runs)::int + (select count(*) from run)::int as runs from run_tally`.execute(ledger.db)
  expect(tally.rows).toEqual([{ runs: 600 }])
})

it('past contents are counted and removed although a backup left out what a destination that waits has', async () => {
  const { db } = ledger
  await ledger.clear()
  await ledger.land('properties', [{ partner_id: 'H-1', content: { name: 'two' } }])
  await sql`
    insert into row_change (row_id, changed_at, content_before, hash_before)
    select row_id, ${firstNight}, '{}', '\\x01' from source_row`.execute(db)
  await using _ = await requestElsewhere(ledger, { state: 'settled' })
  expect((await countOld(db, 'past_contents', nightOf(500))).rows).toBe(1)
  expect(await removeOld(db, 'past_contents', nightOf(500))).toBe(1)
})

it('the last comparison of inputs that was made stays, however many were withheld since', async () => {
  const { db } = ledger
  await ledger.clear()
  const compared: number[] = []
  for (const withheld of [null, null, 'pages_not_loaded', 'pages_not_loaded']) {
    const run = await ledger.startRun()
    const { submission_id } = await db
      .insertInto('submission')
      .values({ run_id: run, kind: 'calculators_search', state: 'settled', row_count: 0 })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    await db.insertInto('input_comparison').values({ run_id: run, submission_id, withheld }).execute()
    compared.push(run)
  }
  // As the newest of their kinds, a search and a run stay anyhow.
  await db
    .insertInto('submission')
    .values({ run_id: await ledger.startRun(), kind: 'calculators_search', state: 'settled', row_count: 0 })
    .execute()
  await sql`update submission set planned_at = ${firstNight}, settled_at = ${firstNight}`.execute(db)
  await sql`update run set state = 'finished', verdict = 'succeeded', finished_at = ${firstNight}`.execute(db)
  await removeOld(db, 'submissions', nightOf(500))
  await removeOld(db, 'runs', nightOf(500))
  const { rows } = await sql<{ run_id: number }>`
    select run_id from input_comparison join submission using (run_id, submission_id) join run using (run_id)
    order by run_id`.execute(db)
  expect(rows.map(({ run_id }) => run_id)).toEqual([compared[1], compared[3]])
})

it('what a person acted on, what is in flight and what another destination has stays, however old', async () => {
  const { db } = ledger
  await ledger.clear()
  const kept: number[] = []
  for (const what of ['acted on', 'in flight', 'mapped', 'payload', 'nothing']) {
    const run = await ledger.startRun()
    const { submission_id: id } = await db
      .insertInto('submission')
      .values({ run_id: run, kind: what, state: what === 'in flight' ? 'accepted' : 'settled', row_count: 0 })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    // A newer one of the same kind, so that this one is not the last of its kind.
    const newer = await ledger.startRun()
    await db.insertInto('submission').values({ run_id: newer, kind: what, state: 'settled', row_count: 0 }).execute()
    if (what === 'acted on') {
      await sql`insert into action (verb, acted_by, host, submission_id, rows) values ('adopt', 'a', 'h', ${id}, 0)`.execute(
        db,
      )
    }
    if (what === 'mapped') {
      await sql`
        insert into mapping (partner_id, company_id, submission_id) values ('H', gen_random_uuid(), ${id})`.execute(db)
    }
    if (what === 'payload') {
      await sql`insert into submission_payload (submission_id, ordinal, piece) values (${id}, 1, 'x')`.execute(db)
    }
    if (what !== 'nothing') kept.push(id)
  }
  await sql`update submission set planned_at = ${firstNight}, settled_at = ${firstNight}`.execute(db)
  await sql`update run set state = 'finished', verdict = 'succeeded', finished_at = ${firstNight}`.execute(db)
  const old = nightOf(500)
  expect((await countOld(db, 'submissions', old)).rows).toBe(1)
  expect(await removeOld(db, 'submissions', old)).toBe(1)
  const { rows } = await sql<{ id: number }>`select submission_id as id from submission order by 1`.execute(db)
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(kept))
  await removeOld(db, 'runs', old)
  const runs = await sql<{ orphans: number }>`
    select count(*)::int as orphans from submission where run_id not in (select run_id from run)`.execute(db)
  expect(runs.rows).toEqual([{ orphans: 0 }])
})

it('what was left out of pages goes with its age, but for the newest search of each kind, whole', async () => {
  const { db } = ledger
  await ledger.clear()
  const search = async (night: number, kind: string, pages: number, state = 'settled') => {
    await sql`
      with began as (
        insert into run (job, trigger, scheduled_for, state, step, verdict, started_at, finished_at)
        values ('pull-calculators', 'schedule', ${nightOf(night)}, 'finished', 'report', 'partial', ${nightOf(night)},
          ${nightOf(night)})
        returning run_id
      ), asked as (
        insert into submission (run_id, kind, partition, state, row_count, planned_at, settled_at)
        select run_id, ${kind}, '', ${state}, 0, ${nightOf(night)}, ${nightOf(night)} from began
        returning submission_id
      ), listed as (
        insert into search_page (submission_id, ordinal, url, state)
        select submission_id, page, ${`${kind} ${night}`}, 'loaded'
        from asked, generate_series(1, ${pages}::int) page
        returning page_id
      )
      insert into quarantine (page_id, unit, item, reason, excerpt)
      select page_id, 'value', part, 'odd', '' from listed, generate_series(1, 3) part`.execute(db)
  }
  const left = async () => {
    const { rows } = await sql<{ search: string; parts: number }>`
      select url as search, count(*)::int as parts from quarantine join search_page using (page_id)
      group by url order by url`.execute(db)
    return rows.map(({ search: name, parts }) => [name, parts])
  }
  await search(1, 'calculators_search', 45)
  await search(2, 'calculators_search', 2)
  await search(3, 'companies_search', 1)
  await search(4, 'calculators_search', 0)
  await search(5, 'calculators_search', 1, 'abandoned')
  await search(40, 'companies_search', 1)
  const before = nightOf(20)
  const counted = await countOld(db, 'quarantine', before)
  expect(counted).toMatchObject({ rows: 45 * 3 + 3, oldest: nightOf(1) })
  expect(counted.bytes).toBeGreaterThan(0)
  expect(await removeOld(db, 'quarantine', before)).toBe(45 * 3 + 3)
  expect(await left()).toEqual([
    ['calculators_search 2', 6],
    ['calculators_search 5', 3],
    ['companies_search 40', 3],
  ])
})
