import { type RawBuilder, sql, type Transaction } from 'kysely'
import { destinationSchemas, schemaName } from '../../../db/schema-standing.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { GuardExample } from '../../../db/tables/run-tables.ts'
import { notCompared } from '../../preflight/judgements.ts'
import { ceasedAt, doubtReverted, findUnsent, lostRows, markMissing } from './after-landing.ts'
import { findKeyContradictions } from './contradicting-rows.ts'
import { type CompleteRows, foldTogether, keepLatest, latestRows, wholeRows } from './stage-rows.ts'
import { isNewStream } from './stream-reading.ts'

export type LandedCounts = {
  /** Staged rows that share a ledger row with another. */
  folded: number
  unchanged: number
  changed: number
  /** Ledger rows that got their tombstone. */
  gone: number
  /** Ledger rows that lost it. */
  returned: number
}

export const nothingLanded: LandedCounts = { folded: 0, unchanged: 0, changed: 0, gone: 0, returned: 0 }

/** Ledger rows of which something would be different at the service, or gone at the partner, if all landed freely. */
export type WouldChange = { new: number; changed: number; gone: number }

/** What a stream of which the ledger has nothing yet is judged by, before it is read: its first rows are never held. */
export const noChange: WouldChange = { new: 0, changed: 0, gone: 0 }

type Landing = {
  runId: number
  stream: string
  /** Set where several partner rows make one ledger row: contents are merged under this key. */
  foldedKey: 'inputs' | undefined
  /** For a merge: whether what is staged of a key is all there is of it. */
  completeRows?: CompleteRows
  /** Whether any column of the stream is looked up. */
  lookups?: boolean
  /** Whether the table `missing_row` names ledger rows that the partner no longer has. */
  missing?: boolean
  /** False where a row that does not come may be there all the same: none is gone, nor one that waits for approval. */
  yieldsAll?: boolean
  /** What staged rows were judged by: a number of `judging_basis`. */
  judgedBy: number
  /** Whether the rows are held until a person approves. */
  guard: (would: WouldChange) => Promise<boolean>
}

/**
 * Compares the staged rows with the ledger and stores what differs, all inside the caller's transaction. The content's
 * hash is taken over jsonb's own text, whose key order does not depend on the partner's.
 *
 * Rows that the guard holds land all the same, so that the ledger says what the partner has; they carry the run whose
 * plan waits for approval, and nothing of them is sent. What is missing then gets no tombstone.
 */
export async function landRows(trx: Transaction<Schema>, landing: Landing): Promise<LandedCounts> {
  const { stream, foldedKey, runId, missing = false, yieldsAll = true } = landing
  const { completeRows = 'none', lookups = false } = landing
  // Sorts of a first night are large. The memory is given back at the end of the transaction.
  await sql`set local work_mem = ${sql.lit(landingMemory)}`.execute(trx)
  if (await isNewStream(trx, stream)) {
    if (foldedKey === undefined) return await landFirstRows(trx, landing, latestRows)
    if (await areWhole(trx)) return await landFirstRows(trx, landing, wholeRows)
  }
  // Only what joins: the contents are long, and no plan depends on them.
  await sql`analyze staged (row_key)`.execute(trx)
  await (foldedKey === undefined ? keepLatest(trx) : foldTogether(trx, stream, foldedKey, { completeRows, lookups }))
  if (!missing) await sql`create temp table missing_row (row_id bigint) on commit drop`.execute(trx)
  await findUnsent(trx, stream)
  await compare(trx, stream)
  const held = await landing.guard(await wouldChange(trx, stream, yieldsAll))
  const gone = await judgeMarked(trx, { stream, runId, yieldsAll }, held)
  const stored = await store(trx, landing, held)
  const missingGone = await markMissing(trx, runId, held)
  const counts = await count(trx)
  await sql`drop table landed, compared, missing_row, unsent_row`.execute(trx)
  return { ...counts, returned: stored, gone: gone + missingGone }
}

/** Memory of a sort or hash table while rows land. Less spills to disk. */
const landingMemory = '64MB'

/** Whether the parts of every ledger row came one after the other, and were merged on their way. */
async function areWhole(trx: Transaction<Schema>): Promise<boolean> {
  const { rows } = await sql<{ whole: boolean }>`
    select not exists (select from staged group by row_key having count(*) > 1) as whole`.execute(trx)
  return rows[0]?.whole === true
}

/** The ledger has no row of the stream, so there is nothing to compare with: every row is written once, in one pass. */
async function landFirstRows(
  trx: Transaction<Schema>,
  landing: Landing,
  rows: RawBuilder<unknown>,
): Promise<LandedCounts> {
  const { runId, stream, guard } = landing
  const counted = await sql<{ staged: number }>`select count(*) as staged from staged`.execute(trx)
  const staged = counted.rows[0]?.staged ?? 0
  const held = await guard({ new: staged, changed: 0, gone: 0 })
  const mark = { run: sql`${held ? runId : null}::bigint`, change: sql`${held ? 'new' : null}::text` }
  const inserted = await insertRows(trx, landing, rows, mark)
  if (inserted < staged) {
    await findKeyContradictions(trx)
    // Written as new rows, not updated: nothing was known of these rows before, so they have no past to keep.
    await sql`
      with forgotten as (
        delete from source_row using contradiction said
        where source_row.stream = ${stream} and source_row.row_key = said.row_key
        returning source_row.row_id
      )
      delete from acceptance using forgotten where acceptance.row_id = forgotten.row_id`.execute(trx)
    await insertRows(trx, landing, sql`select * from contradiction`, mark)
    await sql`drop table contradiction`.execute(trx)
  }
  return { folded: staged - inserted, unchanged: 0, changed: inserted, gone: 0, returned: 0 }
}

/** What marks a row that the guard holds. */
type Mark = { run: RawBuilder<unknown>; change: RawBuilder<unknown> }

/**
 * Contents in the order of their keys, which is that of two indexes: in any other, each row would touch other pages.
 * What destinations take of them is written beside them, by ascending numbers.
 * @param rows a query with the columns of `landed`.
 */
async function insertRows(
  trx: Transaction<Schema>,
  { stream, judgedBy }: Landing,
  rows: RawBuilder<unknown>,
  mark: Mark,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    with written as (
      insert into source_row (row_id, stream, partner_id, row_key, content, desired_hash, contradiction,
                              contradicting_parts, guard_run, guard_change)
      overriding system value
      select row_id, ${stream}, partner_id, row_key, content, hash, contradicts, contradicting_parts, ${mark.run},
             ${mark.change}
      from (${rows}) made
      order by row_key
      returning row_id, partner_id, desired_hash as hash, contradiction as contradicts
    )
    insert into acceptance (row_id, partner_id, wanted_hash, checked_hash, judged_by, invalid_reason)
    select written.row_id, written.partner_id, hash, ${judgedHash}, ${judgedAlone(judgedBy, sql`0`)}, ${invalidReason}
    from written left join staged using (row_id)
    order by row_id`.execute(trx)
  return Number(numAffectedRows)
}

/** What preflight would store of a row that was judged on its way here. */
const judgedHash = sql`case when judged or contradicts is not null then hash end`
const invalidReason = sql`coalesce(contradicts, reason)`
const judgedAlone = (basis: number, otherwise: RawBuilder<unknown>) =>
  sql`case when judged or contradicts is not null then ${notCompared(basis)}::integer else ${otherwise} end`

/**
 * What differs from the ledger, or is there again: the table `compared`. What contradicts itself is not `pending`: it
 * is invalid, nothing of it is sent, and once it is right it is compared again. For the guard a row that was gone, or
 * that contradicted itself and was never sent, is new: nobody counts it as known while it waits, and it may be gone
 * again without asking.
 */
async function compare(trx: Transaction<Schema>, stream: string): Promise<void> {
  await sql`
    create temp table compared on commit drop as
    select landed.partner_id, landed.row_key, landed.content, landed.hash, landed.judged, landed.reason,
           landed.contradicts, landed.contradicting_parts, landed.row_id as new_row_id, held.row_id,
           case when held.row_id is null then 'new' when held.desired_hash <> landed.hash then 'changed'
                else 'returned' end as change,
           case when held.row_id is null or held.guard_change = 'new' or held.gone_at is not null
                  or unsent.row_id is not null then 'new'
                else 'changed' end as guard_change,
           held.gone_at is not null as was_gone,
           landed.contradicts is null and landed.hash is distinct from took.accepted_hash as pending
    from landed
    left join source_row held on held.stream = ${stream} and held.row_key = landed.row_key
    left join acceptance took on took.row_id = held.row_id
    left join unsent_row unsent on unsent.row_id = held.row_id
    where held.row_id is null or held.desired_hash <> landed.hash or held.gone_at is not null
      or held.guard_change = 'gone'`.execute(trx)
  await sql`analyze compared (row_id)`.execute(trx)
}

/** Rows that wait for approval already, and that neither this landing nor what is missing says anything new about. */
const marked = (stream: string) => sql`
  row.stream = ${stream} and guard_run is not null
    and not exists (select from compared where compared.row_id = row.row_id)
    and not exists (select from missing_row where missing_row.row_id = row.row_id)`

/** Whether a marked row would still change, or be gone. */
const waits = (yieldsAll: boolean) =>
  sql`case when guard_change = 'gone' then ${yieldsAll} else pending and contradiction is null end`

async function wouldChange(trx: Transaction<Schema>, stream: string, yieldsAll: boolean): Promise<WouldChange> {
  const { rows } = await sql<WouldChange>`
    with change as (
      select guard_change, count(*) as rows from compared where pending group by 1
      union all
      select 'gone', count(*) from ${lostRows}
      union all
      select guard_change, count(*) from ledger row
      where ${marked(stream)} and ${waits(yieldsAll)}
      group by 1
    )
    select coalesce(sum(rows) filter (where guard_change = 'new'), 0)::bigint as new,
           coalesce(sum(rows) filter (where guard_change = 'changed'), 0)::bigint as changed,
           coalesce(sum(rows) filter (where guard_change = 'gone'), 0)::bigint as gone
    from change`.execute(trx)
  return rows[0] ?? { new: 0, changed: 0, gone: 0 }
}

/** What waited for approval waits with this run's plan, or is let go. Returns the tombstones that this sets. */
async function judgeMarked(
  trx: Transaction<Schema>,
  { stream, runId, yieldsAll }: { stream: string; runId: number; yieldsAll: boolean },
  held: boolean,
): Promise<number> {
  const { rows } = await sql<{ gone: number }>`
    with judged as (
      update source_row
      set guard_run = case when ${held} and waits then ${runId}::bigint end,
          guard_change = case when ${held} and waits then source_row.guard_change end,
          gone_at = case when not ${held} and ${yieldsAll} and source_row.guard_change = 'gone'
            then clock_timestamp() else gone_at end
      from (
        select row_id, ${waits(yieldsAll)} as waits, guard_change
        from ledger row where ${marked(stream)}
      ) earlier
      where earlier.row_id = source_row.row_id
      returning earlier.guard_change
    )
    select count(*) filter (where guard_change = 'gone' and ${yieldsAll} and not ${held}) as gone from judged`.execute(
    trx,
  )
  return rows[0]?.gone ?? 0
}

/** Rows of `compared` that say again what was accepted of them, without having been gone. */
const isReverted = sql<boolean>`(change = 'changed' and not pending and not was_gone and contradicts is null)`

/** @returns how many rows that were gone are there again. */
async function store(trx: Transaction<Schema>, landing: Landing, held: boolean): Promise<number> {
  const { runId, judgedBy } = landing
  const counted = await sql<{ all: number; returned: number; reverted: number }>`
    select count(*) as all, count(*) filter (where was_gone) as returned,
           count(*) filter (where ${isReverted}) as reverted
    from compared`.execute(trx)
  const { all, returned, reverted } = counted.rows[0] ?? { all: 0, returned: 0, reverted: 0 }
  if (all === 0) return 0
  const mark = (of: string) => sql`case when ${held} and ${sql.ref(`${of}.pending`)} then ${runId}::bigint end`
  const change = (of: string) =>
    sql`case when ${held} and ${sql.ref(`${of}.pending`)} then ${sql.ref(`${of}.guard_change`)} end`
  const created = sql`
    select new_row_id as row_id, partner_id, row_key, content, hash, judged, reason, contradicts, contradicting_parts,
           pending, guard_change
    from compared where change = 'new'`
  await insertRows(trx, landing, created, { run: mark('made'), change: change('made') })
  await sql`
    update source_row
    set content = compared.content, desired_hash = compared.hash, partner_id = compared.partner_id,
        contradiction = contradicts, contradicting_parts = compared.contradicting_parts,
        changed_at = clock_timestamp(), gone_at = null,
        guard_run = ${mark('compared')}, guard_change = ${change('compared')}
    from compared
    where source_row.row_id = compared.row_id and compared.change <> 'new'`.execute(trx)
  if (returned > 0) await forgetReturned(trx)
  await sql`
    update acceptance
    set wanted_hash = compared.hash, partner_id = compared.partner_id, checked_hash = ${judgedHash},
        judged_by = ${judgedAlone(judgedBy, sql`judged_by`)}, invalid_reason = ${invalidReason}
    from compared
    where acceptance.row_id = compared.row_id and compared.change <> 'new'`.execute(trx)
  if (reverted > 0) await doubtReverted(trx, sql`select row_id from compared where ${isReverted}`, ceasedAt)
  await forgetWarnings(trx)
  return returned
}

/**
 * While a row is gone another may be written in its place: under another framework, or of another hotel of its company.
 * At destinations that wait that may have happened before they were left: there the row is compared with others again,
 * also one that was not accepted. A plan, which works on copies, leaves those as they are.
 */
async function forgetReturned(trx: Transaction<Schema>): Promise<void> {
  const schemas = (await worksOnCopies(trx)) ? [] : await destinationSchemas(trx)
  const waiting = schemas.filter((schema) => schema !== schemaName).map((schema) => sql.id(schema, 'acceptance'))
  for (const acceptance of [sql.table('acceptance'), ...waiting]) {
    await sql`
      update ${acceptance} took
      set accepted_hash = null, refused_hash = null, outcome = null, outcome_code = 'row_returned',
          outcome_reason =
            'it was gone and is there again; what was accepted of it may have been overwritten meanwhile',
          outcome_at = clock_timestamp()
      from compared
      where took.row_id = compared.row_id and compared.was_gone and took.accepted_hash is not null`.execute(trx)
  }
  for (const acceptance of waiting) {
    await sql`
      update ${acceptance} took set judged_by = -judged_by from compared
      where took.row_id = compared.row_id and compared.was_gone and took.judged_by > 0`.execute(trx)
  }
}

/** Whether the ledger that is written here is not the real one. */
async function worksOnCopies(trx: Transaction<Schema>): Promise<boolean> {
  const { rows } = await sql<{ copies: boolean }>`
    select 'acceptance'::regclass <> ${`${schemaName}.acceptance`}::regclass as copies`.execute(trx)
  return rows[0]?.copies ?? false
}

/** A row that was judged on its way here has nothing odd about it by now, and preflight does not look at it again. */
async function forgetWarnings(trx: Transaction<Schema>): Promise<void> {
  await sql`
    delete from row_finding using compared
    where row_finding.row_id = compared.row_id and compared.judged
      and row_finding.kind in ('coordinates_zero', 'field_type_unseen')`.execute(trx)
}

async function count(trx: Transaction<Schema>): Promise<Pick<LandedCounts, 'folded' | 'unchanged' | 'changed'>> {
  const { rows } = await sql<{ staged: number; landed: number; changed: number }>`
    select (select count(*) from staged) as staged,
           (select count(*) from landed) as landed,
           (select count(*) from compared where change in ('new', 'changed')) as changed`.execute(trx)
  const { staged, landed, changed } = rows[0] ?? { staged: 0, landed: 0, changed: 0 }
  return { folded: staged - landed, unchanged: landed - changed, changed }
}

/** A few of the rows that would change, with what is known of them here and what the partner has now. */
export async function examplesOfChange(trx: Transaction<Schema>, limit: number): Promise<GuardExample[]> {
  const { rows } = await sql<GuardExample>`
    (select compared.partner_id, compared.row_key, compared.guard_change as change,
            held.content as before, compared.content as after
     from compared left join source_row held on held.row_id = compared.row_id
     where pending
     order by compared.guard_change, compared.row_key
     limit ${limit})
    union all
    (select partner_id, row_key, 'gone', content, null
     from ${lostRows}
     order by row_key
     limit ${limit})
    limit ${limit}`.execute(trx)
  return rows
}
