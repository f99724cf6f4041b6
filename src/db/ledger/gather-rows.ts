import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { keptOf } from './candidates.ts'
import type { Requires } from './requirements.ts'
import { lacksRequirement } from './row-state.ts'
import { isSuspended } from './suspended-hotels.ts'

type Gathering = {
  runId: number
  kind: string
  streams: readonly string[]
  kindStreams: readonly string[]
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
 * Gathers candidates in the temporary table `gathered`, until they have enough rows for the requests that are wanted,
 * or none are left: of each the partition of its next rows, and how many there are. Of a target, which is a company of
 * the service or a property that has none yet, nothing may be in flight. What is in flight, and what no request of this
 * cut takes of a property, says that the property is looked at again when its submission ends.
 *
 * Rows of the ledger are read of candidates that nobody has looked at. What their next request would carry goes into
 * `cut_row`, and all else into `candidate_row`, where later cuts find it.
 */
export async function gatherRows(trx: Transaction<Schema>, gathering: Gathering): Promise<void> {
  let rows = 0
  let past: string | null = null
  for (let batch = firstBatch; ; ) {
    const taken = await takeCandidates(trx, gathering, batch, past)
    rows += taken.rows
    past = taken.last
    if (taken.properties < batch) return
    const filled = await filledRequests(trx, gathering.maxRows)
    if (filled >= gathering.requests || rows >= (gathering.requests + spareRequests) * gathering.maxRows) return
    batch = nextBatch(batch, (gathering.requests - filled) * gathering.maxRows, taken)
  }
}

type Taken = { properties: number; rows: number; last: string | null }

/** As many candidates as should bring the rows that are wanted, by the last ones taken; never many more at a time. */
function nextBatch(batch: number, wanted: number, { properties, rows }: Taken): number {
  const expected = Math.ceil((wanted * properties) / Math.max(rows, 1))
  return Math.min(largestBatch, batch * 4, Math.max(firstBatch, expected))
}

/**
 * Streams of properties in the table `of`, with their target, of which rows could go out now, as far as the property
 * says.
 */
function freeStreams({ streams, kindStreams, requires }: Gathering, of: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select row.partner_id, row.stream, coalesce(mapping.company_id::text, row.partner_id) as target
    from (select partner_id, unnest(${streams}::text[]) as stream from ${of}) row
    left join mapping using (partner_id)
    where not exists (
        select from held_property held
        where held.partner_id = row.partner_id and held.stream = any(${kindStreams}::text[]))
      and not exists (
        select from mapping twin
        join held_property held on held.partner_id = twin.partner_id
        where twin.company_id = mapping.company_id and twin.partner_id <> row.partner_id
          and held.stream = any(${kindStreams}::text[]))
      and not ${isSuspended()}
      and not ${lacksRequirement(requires)}`
}

/**
 * Gathers the next candidates. What nobody has looked at is taken out, also what turns out to have nothing ready: what
 * changes that names it again.
 * @param past the partner id after which to go on.
 */
async function takeCandidates(
  trx: Transaction<Schema>,
  gathering: Gathering,
  batch: number,
  past: string | null,
): Promise<Taken> {
  const { runId, kind, kindStreams, partition, sendable, maxRowsOfProperty } = gathering
  const keptRows = sql`candidate_row kept where kept.run_id = ${runId} and kept.kind = ${kind}
          and kept.partner_id = free.partner_id`
  const { rows } = await sql<Taken>`
    with head as materialized (
      select ctid as place, partner_id, target, partition, rows, others from candidate
      where run_id = ${runId} and kind = ${kind} and (${past}::text is null or partner_id > ${past})
      order by partner_id limit ${batch}
    ),
    taken as (
      delete from candidate
      -- By their places: of a long queue only the head is read. Nobody else writes it under the run's lock.
      where ctid = any(array(select place from head where partition is null))
      returning partner_id
    ),
    free as materialized (${freeStreams(gathering, sql`taken`)}),
    -- Of a property that is in flight, by this partner id or another of its company.
    put_off as (
      update held_property held set more = true
      from (
        select partner_id from taken
        union
        select twin.partner_id
        from taken join mapping using (partner_id) join mapping twin on twin.company_id = mapping.company_id
      ) concerned
      where held.partner_id = concerned.partner_id and held.stream = any(${kindStreams}::text[]) and not held.more
    ),
    -- Rows that an earlier cut has found, and did not carry.
    remembered as materialized (
      select free.partner_id, free.target, next.partition,
             (select count(*) from ${keptRows} and kept.partition = next.partition) as rows,
             exists (select from ${keptRows} and kept.partition > next.partition) as others
      from (select distinct partner_id, target from free) free
      cross join lateral (select kept.partition from ${keptRows} order by kept.partition limit 1) next
    ),
    placed as materialized (
      select ready.row_id, free.stream, free.partner_id, free.target, ready.partition, ready.wanted_hash,
             rank() over (partition by free.partner_id order by ready.partition) = 1 as next,
             row_number() over (partition by free.partner_id, ready.partition order by ready.row_id) as place
      from free
      cross join lateral (
        select row.row_id, ${partition} as partition, row.desired_hash as wanted_hash
        -- Planned by itself: what the planner expects the conditions to cost would have it scan all of a small table
        -- for each property, rather than look its few rows up.
        from (
          select * from ledger where stream = free.stream and partner_id = free.partner_id offset 0
        ) row
        where ${sendable}
      ) ready
      where not exists (select from remembered where remembered.partner_id = free.partner_id)
    ),
    at_hand as (
      insert into cut_row
      select row_id, stream, partner_id, wanted_hash from placed where next and place <= ${maxRowsOfProperty}
    ),
    put_by as (
      insert into candidate_row (run_id, kind, partner_id, partition, row_id)
      select ${runId}::bigint, ${kind}, partner_id, partition, row_id from placed
      where not next or place > ${maxRowsOfProperty}
    ),
    found as (
      select partner_id, target, partition, rows, others, true as kept, place from head where partition is not null
      union all
      select partner_id, target, partition, rows, others, true, null from remembered
      union all
      select partner_id, target, min(partition), count(*) filter (where next), not bool_and(next), false, null
      from placed group by partner_id, target
    ),
    gathered as (
      insert into gathered (partner_id, target, partition, rows, size, more, others, kept, place)
      select partner_id, target, partition, rows, least(rows, ${maxRowsOfProperty}),
             others or rows > ${maxRowsOfProperty}, others, kept, place
      from found
      returning size
    )
    select count(*) as properties, max(partner_id) as last,
           (select coalesce(sum(size), 0)::bigint from gathered) as rows
    from head`.execute(trx)
  return rows[0] ?? { properties: 0, rows: 0, last: past }
}

async function filledRequests(trx: Transaction<Schema>, maxRows: number): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    select coalesce(sum(rows / ${maxRows}::integer), 0)::bigint as filled
    from (select sum(size)::bigint as rows from gathered group by partition) counted`.execute(trx)
  return rows[0]?.filled ?? 0
}

/**
 * Brings the rows of chosen properties that an earlier cut has kept, as they are now. Where they are not any more what
 * was found of a property then, nothing is chosen: the property becomes a candidate that nobody has looked at.
 *
 * @returns whether what was chosen stands.
 */
export async function fetchKept(trx: Transaction<Schema>, gathering: Gathering): Promise<boolean> {
  const { runId, kind, partition, sendable, maxRowsOfProperty } = gathering
  const { rows } = await sql<{ changed: number }>`
    with free as materialized (${freeStreams(gathering, sql`chosen where chosen.kept`)}),
    fetched as (
      insert into cut_row
      select row.row_id, row.stream, chosen.partner_id, row.desired_hash, kept.place
      from chosen
      cross join lateral (
        select kept.row_id, kept.ctid as place from candidate_row kept
        where kept.run_id = ${runId} and kept.kind = ${kind} and kept.partner_id = chosen.partner_id
          and kept.partition = chosen.partition
        order by kept.row_id limit ${maxRowsOfProperty}
      ) kept
      cross join lateral (select * from ledger where row_id = kept.row_id offset 0) row
      join free on free.partner_id = chosen.partner_id and free.stream = row.stream and free.target = chosen.target
      where chosen.kept and row.partner_id = chosen.partner_id and ${partition} = chosen.partition and ${sendable}
      returning partner_id
    ),
    changed as materialized (
      select partner_id
      from chosen left join (select partner_id, count(*) as size from fetched group by partner_id) found
        using (partner_id)
      where chosen.kept and found.size is distinct from chosen.size
    ),
    forgotten as (
      delete from candidate_row
      where ctid = any(array(select place from ${keptOf(runId, sql`(select *, ${kind}::text as kind from changed)`)}))
    ),
    named as (
      insert into candidate (run_id, kind, partner_id) select ${runId}::bigint, ${kind}, partner_id from changed
      on conflict (run_id, kind, partner_id) do update set partition = null
    ),
    dropped as (
      delete from gathered using changed where gathered.partner_id = changed.partner_id
    )
    select count(*) as changed from changed`.execute(trx)
  if (rows[0]?.changed === 0) return true
  await sql`truncate chosen`.execute(trx)
  return false
}

/** Makes candidates again of what was gathered and not chosen, and keeps what was found of them for later cuts. */
export async function keepLeft(
  trx: Transaction<Schema>,
  { runId, kind }: Pick<Gathering, 'runId' | 'kind'>,
): Promise<void> {
  await sql`
    with left_over as materialized (
      select * from gathered where not exists (select from chosen where chosen.partner_id = gathered.partner_id)
    ),
    kept as (
      insert into candidate_row (run_id, kind, partner_id, partition, row_id)
      select ${runId}::bigint, ${kind}, partner_id, partition, row_id
      from left_over join cut_row using (partner_id)
      where not left_over.kept
    )
    insert into candidate (run_id, kind, partner_id, target, partition, rows, others)
    select ${runId}::bigint, ${kind}, partner_id, target, partition, rows, others from left_over
    order by partner_id
    on conflict do nothing`.execute(trx)
}
