import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { lacksRequirement, type Requires } from './requirement.ts'

type Gathering = {
  runId: number
  kind: string
  streams: readonly string[]
  requires: Requires
  /** What requests are kept apart by, of a row called `row`. */
  partition: RawBuilder<string>
  /** Whether a row, called `row`, could go out as far as the row itself says. */
  sendable: RawBuilder<boolean>
  /** Rows of one property in one request at most. */
  maxRowsOfProperty: number
  maxRows: number
  /** Requests that are wanted. */
  requests: number
}

/** Candidates looked at in one statement: few at first, because nobody knows how many rows they bring. */
const firstBatch = 64
const largestBatch = 10_000

/** Requests' worth of rows gathered beyond those wanted, at most: where rows spread over many partitions. */
const spareRequests = 8

/**
 * Takes candidates and gathers their ready rows in the temporary table `cut_row`, until there are enough for the
 * requests that are wanted, or no candidates are left. Of one target, which is a company of the service or a property
 * that has none yet, rows of one partner id and one partition are kept, and only if nothing of it is in flight. What is
 * not kept of a property, and what is in flight, says that the property is looked at again when its submission ends.
 *
 * @returns how many rows.
 */
export async function gatherRows(trx: Transaction<Schema>, gathering: Gathering): Promise<number> {
  await sql`
    create temp table cut_row (
      row_id bigint, stream text, partner_id text, target text, partition text, wanted_hash bytea, kept boolean)
    on commit drop`.execute(trx)
  await sql`
    create temp table cut_property (submission_id bigint, stream text, partner_id text, more boolean, rows bigint)
    on commit drop`.execute(trx)
  let rows = 0
  for (let batch = firstBatch; ; ) {
    const taken = await takeCandidates(trx, gathering, batch)
    rows += taken.rows
    if (taken.properties < batch) return rows
    const filled = await filledRequests(trx, gathering.maxRows)
    if (filled >= gathering.requests || rows >= (gathering.requests + spareRequests) * gathering.maxRows) return rows
    batch = nextBatch(batch, (gathering.requests - filled) * gathering.maxRows, taken)
  }
}

type Taken = { properties: number; rows: number }

/** As many candidates as should bring the rows that are wanted, by the last ones taken; never many more at a time. */
function nextBatch(batch: number, wanted: number, { properties, rows }: Taken): number {
  const expected = Math.ceil((wanted * properties) / Math.max(rows, 1))
  return Math.min(largestBatch, batch * 4, Math.max(firstBatch, expected))
}

/**
 * Takes the next candidates out, also those that turn out to have nothing ready: what changes that names them again.
 */
async function takeCandidates(
  trx: Transaction<Schema>,
  { runId, kind, streams, requires, partition, sendable, maxRowsOfProperty }: Gathering,
  batch: number,
): Promise<Taken> {
  const { rows } = await sql<Taken>`
    with taken as (
      delete from candidate
      -- By their places: of a long queue only the head is read. Nobody else writes it under the run's lock.
      where ctid = any(array(
        select ctid from candidate where run_id = ${runId} and kind = ${kind} order by partner_id limit ${batch}))
      returning partner_id
    ),
    free as materialized (
      select row.partner_id, row.stream, coalesce(mapping.company_id::text, row.partner_id) as target
      from (select partner_id, unnest(${streams}::text[]) as stream from taken) row
      left join mapping using (partner_id)
      where not exists (
          select from held_property held
          where held.partner_id = row.partner_id and held.stream = any(${streams}::text[]))
        and not exists (
          select from mapping twin
          join held_property held on held.partner_id = twin.partner_id
          where twin.company_id = mapping.company_id and twin.partner_id <> row.partner_id
            and held.stream = any(${streams}::text[]))
        and not ${lacksRequirement(requires)}
    ),
    -- Of a property that is in flight, by this partner id or another of its company.
    put_off as (
      update held_property held set more = true
      from (
        select partner_id from taken
        union
        select twin.partner_id
        from taken join mapping using (partner_id) join mapping twin on twin.company_id = mapping.company_id
      ) concerned
      where held.partner_id = concerned.partner_id and held.stream = any(${streams}::text[]) and not held.more
    ),
    placed as (
      select ready.row_id, free.stream, free.partner_id, free.target, ready.partition, ready.wanted_hash,
             rank() over (partition by free.partner_id order by ready.partition) = 1
               and row_number() over (partition by free.partner_id, ready.partition order by ready.row_id)
                 <= ${maxRowsOfProperty} as kept
      from free
      cross join lateral (
        select row.row_id, ${partition} as partition, row.desired_hash as wanted_hash
        from ledger row
        where row.stream = free.stream and row.partner_id = free.partner_id and ${sendable}
        order by partition, row_id
        limit ${maxRowsOfProperty + 1}
      ) ready
    ),
    gathered as (
      insert into cut_row
      select row_id, stream, partner_id, target, partition, wanted_hash, kept from placed
      returning kept
    )
    select (select count(*) from taken) as properties, (select count(*) from gathered where kept) as rows`.execute(trx)
  return rows[0] ?? { properties: 0, rows: 0 }
}

async function filledRequests(trx: Transaction<Schema>, maxRows: number): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    select coalesce(sum(rows / ${maxRows}::integer), 0)::bigint as filled
    from (select count(*) as rows from cut_row where kept group by partition) counted`.execute(trx)
  return rows[0]?.filled ?? 0
}
