import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'

const table = (kind: PlainKind): RawBuilder<unknown> => sql.table(kind.table)

export async function countPlain(db: Database, kind: PlainKind, before: Date): Promise<OldCount> {
  return await countBy(
    db,
    sql<OldCount>`
      select count(*) as rows, min(${sql.id('old', kind.at)}) as oldest,
             coalesce(sum(pg_column_size(old)), 0)::float8 as bytes
      from ${table(kind)} old where ${kind.condition(before)}`,
  )
}

/** Removes one batch, in a statement of its own. @returns how many; fewer than `batchRows` once there are no more. */
export async function removePlain(db: Database, kind: PlainKind, before: Date): Promise<number> {
  const key = sql.join(kind.key.map((column) => sql.ref(column)))
  const found = sql`select ${key} from ${table(kind)} old where ${kind.condition(before)} limit ${batchRows}`
  // By ctid only with an array does the server go straight to the rows.
  const those = kind.key[0] === 'ctid' ? sql`ctid = any(array(${found}))` : sql`(${key}) in (${found})`
  const { numAffectedRows } = await sql`delete from ${table(kind)} where ${those}`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/** Adds what is counted apart. Pure. */
export function addCounts(counts: readonly OldCount[]): OldCount {
  return counts.reduce((sum, one) => ({
    rows: sum.rows + one.rows,
    oldest: sum.oldest === null || (one.oldest !== null && one.oldest < sum.oldest) ? one.oldest : sum.oldest,
    bytes: sum.bytes + one.bytes,
  }))
}

/** Kinds whose rows nothing else refers to. */
export const plainKinds: Partial<Record<OldKind, readonly PlainKind[]>> = {
  webhook_events: [
    {
      table: 'webhook_event',
      key: ['event_id'],
      at: 'first_at',
      condition: (before) => sql`old.state = 'done' and old.effect <> 'kept' and old.first_at < ${before}`,
    },
    {
      table: 'webhook_refusal',
      key: ['day', 'reason'],
      at: 'last_at',
      condition: (before) => sql`old.last_at < ${before}`,
    },
  ],
  application_events: [
    {
      table: 'webhook_event',
      key: ['event_id'],
      at: 'first_at',
      condition: (before) => sql`old.state = 'done' and old.effect = 'kept' and old.first_at < ${before}`,
    },
  ],
  queue: [
    {
      table: 'nightferry_queue.job',
      key: ['name', 'id'],
      at: 'completed_on',
      condition: (before) => sql`old.state >= 'completed' and old.completed_on < ${before}`,
    },
  ],
  notifications: [
    {
      table: 'notification',
      key: ['notification_id'],
      at: 'created_at',
      // The last ones of each job and destination say what people know of: a cause that lasts is not told twice. What
      // nobody was told says only that what they know of is news again, and that is for the newest to say.
      condition: (before) => sql`
        old.next_at is null and old.created_at < ${before}
        and (old.event = 'heartbeat' or (old.told_at is null and old.event in ('late', 'slow')) or exists (
          select from notification later
          where later.job = old.job and later.destination_id = old.destination_id
            and later.notification_id > old.notification_id
            and (later.event = 'recovered'
                 or (old.told_at is null and old.event <> 'recovered'
                     and later.event not in ('heartbeat', 'late', 'slow')))))`,
    },
  ],
  job_requests: [
    {
      table: 'job_request',
      key: ['request_id'],
      at: 'answered_at',
      condition: (before) => sql`old.state <> 'waiting' and old.answered_at < ${before}`,
    },
  ],
}

/**
 * The contents that rows had before they changed, but for those that a destination accepted and has not replaced: what
 * was accepted for a company is known by them when the hotel is mapped to another.
 * @param schemas of every destination.
 */
export function pastContents(schemas: readonly string[]): PlainKind {
  const accepted = schemas.map(
    (schema): RawBuilder<boolean> => sql`exists (
      select from ${sql.id(schema, 'acceptance')} took
      where took.row_id = old.row_id and took.accepted_hash = old.hash_before)`,
  )
  return {
    table: 'row_change',
    key: ['ctid'],
    at: 'changed_at',
    condition: (before) => sql`old.changed_at < ${before} and not (${sql.join(accepted, sql` or `)})`,
  }
}

/** Removed values and property values, which cannot be brought back afterwards. */
export const removedValueKinds: readonly PlainKind[] = ['removed_value', 'removed_property'].map((table) => ({
  table,
  key: ['ctid'],
  at: 'removed_at',
  condition: (before) => sql`old.removed_at < ${before}`,
}))

/** Recorded changes of values, and of the names of variables and properties. */
export const valueChangeKinds: readonly PlainKind[] = [
  {
    table: 'calculator_value_change',
    key: ['ctid'],
    at: 'changed_at',
    condition: (before) => sql`old.changed_at < ${before}`,
  },
  {
    table: 'name_change',
    key: ['change_id'],
    at: 'changed_at',
    condition: (before) => sql`old.changed_at < ${before}`,
  },
  {
    // The history asks which search was the last to show a value: those that would be the answer for none can go.
    table: 'complete_search',
    key: ['submission_id'],
    at: 'ended_at',
    condition: (before) => sql`
      old.ended_at < ${before} and exists (
        select from complete_search later
        where later.submission_id > old.submission_id
          and (cardinality(later.calculator_type_ids) = 0
               or (cardinality(old.calculator_type_ids) > 0 and later.calculator_type_ids @> old.calculator_type_ids))
          and not exists (
            select from calculator_value_change change
            where change.submission_id > old.submission_id and change.submission_id <= later.submission_id))`,
  },
]

/**
 * What housekeeping removes, by the name that its report has for it, in the order in which it is removed: what names
 * requests and runs goes before them, since they stay for as long as something names them.
 */
export const oldKinds = [
  'payloads',
  'value_changes',
  'removed_values',
  'past_contents',
  'quarantine',
  'reports',
  'submission_rows',
  'submissions',
  'runs',
  'webhook_events',
  'application_events',
  'queue',
  'notifications',
  'job_requests',
] as const
export type OldKind = (typeof oldKinds)[number]

/** What a dry run says of a kind. `bytes`: what the rows take, without indexes. */
export type OldCount = { rows: number; oldest: Date | null; bytes: number }

/** How many went, and where the next batch goes on; null: none is left. */
export type Removed = { rows: number; next: number | null }

/** How a kind is counted, and how a batch of it goes, from where the one before ended. */
export type Removal = {
  count: (db: Database, before: Date) => Promise<OldCount>
  remove: (db: Database, before: Date, after: number) => Promise<Removed>
}

/** What a query counts: one row, with the columns of `OldCount`. */
export async function countBy(db: Database, query: RawBuilder<OldCount>): Promise<OldCount> {
  const { rows } = await query.execute(db)
  return rows[0] ?? noneOld
}

export const noneOld: OldCount = { rows: 0, oldest: null, bytes: 0 }

/** Rows of one statement: few enough that nobody waits long for its locks. */
export const batchRows = 5_000

/** When a submission, which the query calls `s`, ended. */
export const submissionEnded = sql<Date>`coalesce(s.settled_at, s.attempted_at, s.planned_at)`

/** Rows of a table of their own that go one by one: what they are called in the condition is `old`. */
export type PlainKind = {
  table: string
  /** The table's key, to delete by. */
  key: readonly string[]
  at: string
  condition: (before: Date) => RawBuilder<boolean>
}
