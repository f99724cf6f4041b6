import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { destinationSchemas } from '../schema-standing.ts'
import { endedStates } from '../tables/submission-tables.ts'
import {
  addCounts,
  countBy,
  countPlain,
  noneOld,
  type OldCount,
  type OldKind,
  type PlainKind,
  pastContents,
  plainKinds,
  type Removal,
  type Removed,
  removedValueKinds,
  removePlain,
  submissionEnded,
  valueChangeKinds,
} from './old-kinds.ts'
import { runRemovals } from './old-runs.ts'

/** Kinds that are more than the rows of tables of their own. */
const removals: Partial<Record<OldKind, Removal>> = {
  payloads: { count: countPayloads, remove: removePayloads },
  ...runRemovals,
}

/** How many rows of a kind would be removed, since when there are any, and what they take. */
export async function countOld(db: Database, kind: OldKind, before: Date): Promise<OldCount> {
  const own = removals[kind]
  if (own !== undefined) return await own.count(db, before)
  const counts = []
  for (const one of await plainOf(db, kind)) counts.push(await countPlain(db, one, before))
  return counts.length === 0 ? noneOld : addCounts(counts)
}

/**
 * Removes one batch of a kind, in a transaction of its own.
 * @param after where the batch before ended; 0 for the first.
 */
export async function removeSome(db: Database, kind: OldKind, before: Date, after: number): Promise<Removed> {
  return await (removals[kind]?.remove(db, before, after) ?? removeRows(db, kind, before))
}

/** Removes all of a kind, batch by batch. @returns how many went. */
export async function removeOld(db: Database, kind: OldKind, before: Date): Promise<number> {
  let rows = 0
  for (let after: number | null = 0; after !== null; ) {
    const removed: Removed = await removeSome(db, kind, before, after)
    rows += removed.rows
    after = removed.next
  }
  return rows
}

async function removeRows(db: Database, kind: OldKind, before: Date): Promise<Removed> {
  for (const one of await plainOf(db, kind)) {
    const rows = await db.transaction().execute(async (trx) => {
      const removed = await removePlain(trx, one, before)
      // The history begins where the first change is still known.
      if (one.table === 'calculator_value_change' && removed > 0) {
        await sql`update history_start set began_at = ${before} where began_at < ${before}`.execute(trx)
      }
      return removed
    })
    if (rows > 0) return { rows, next: 0 }
  }
  return { rows: 0, next: null }
}

/** The tables of a kind. */
async function plainOf(db: Database, kind: OldKind): Promise<readonly PlainKind[]> {
  if (kind === 'value_changes') return valueChangeKinds
  if (kind === 'removed_values') return removedValueKinds
  if (kind === 'past_contents') return [pastContents(await destinationSchemas(db))]
  const plain = plainKinds[kind] ?? []
  if (kind !== 'queue') return plain
  // Nothing was ever queued where no run was started.
  const { rows } = await sql`select where to_regclass('nightferry_queue.job') is not null`.execute(db)
  return rows.length > 0 ? plain : []
}

/** The bodies of requests that have ended: no run reads them. Counted by request. */
const oldPayloads = (before: Date) => sql`
  select s.submission_id from submission s
  where s.state = any(${endedStates}::text[]) and ${submissionEnded} < ${before}
    and exists (select from submission_payload body where body.submission_id = s.submission_id)`

async function countPayloads(db: Database, before: Date): Promise<OldCount> {
  return await countBy(
    db,
    sql<OldCount>`
    select count(distinct s.submission_id) as rows, min(${submissionEnded}) as oldest,
           coalesce(sum(octet_length(body.piece)), 0)::float8 as bytes
    from submission s join submission_payload body using (submission_id)
    where s.submission_id in (${oldPayloads(before)})`,
  )
}

/** Bodies of one batch: some are large. */
const bodiesAtOnce = 100

async function removePayloads(db: Database, before: Date): Promise<Removed> {
  const { rows } = await sql<{ requests: number }>`
    with removed as (
      delete from submission_payload
      where submission_id in (${oldPayloads(before)} order by s.submission_id limit ${bodiesAtOnce})
      returning submission_id
    )
    select count(distinct submission_id) as requests from removed`.execute(db)
  const requests = rows[0]?.requests ?? 0
  return { rows: requests, next: requests < bodiesAtOnce ? null : 0 }
}
