import { randomUUID } from 'node:crypto'
import { type Selectable, sql, type Transaction } from 'kysely'
import type pg from 'pg'
import { streamNames } from '../../../src/config/known-names.ts'
import { recordAction } from '../../../src/db/actions/record-action.ts'
import { createDatabase, createPool, type Database, withSession } from '../../../src/db/database.ts'
import { type PlanKindOptions, planKind } from '../../../src/db/ledger/plan-kind.ts'
import type { RowFilter } from '../../../src/db/ledger/row-filter.ts'
import { markForResend } from '../../../src/db/ledger/rows-again.ts'
import { settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import { schemaName } from '../../../src/db/migrate-to-latest.ts'
import type { Schema } from '../../../src/db/tables/database-schema.ts'
import type { LedgerView } from '../../../src/db/tables/row-tables.ts'
import type { SubmissionState } from '../../../src/db/tables/submission-tables.ts'
import { type LandedCounts, landRows } from '../../../src/pipeline/delta/landing/land-rows.ts'
import { createStage, stagedLine, stageRows } from '../../../src/pipeline/delta/landing/stage-rows.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { testDatabase } from '../../helpers/postgres.ts'

export type Landing = {
  partner_id: string
  row_key?: string
  content: Record<string, unknown>
  /** Of rows with one key the highest is the latest. By default their order. */
  ordinal?: number
}

export type Ledger = {
  url: string
  pool: pg.Pool
  db: Database
  inTransaction<T>(work: (trx: Transaction<Schema>) => Promise<T>): Promise<T>
  /** A person asks for accepted rows to be sent again: all of them, or as the filter says. */
  askResend(filter?: RowFilter): Promise<void>
  /** A run that is under way; earlier ones are ended. */
  startRun(): Promise<number>
  land(stream: string, rows: readonly Landing[], foldedKey?: 'inputs'): Promise<LandedCounts>
  /** Lands rows as preflight leaves them, and accepted when asked. */
  landChecked(stream: string, rows: readonly Landing[], accepted?: boolean): Promise<void>
  plan(runId: number, options?: Partial<PlanKindOptions>): Promise<number[]>
  /** Partner ids or row keys of a submission's rows, in order. */
  keysOf(submissionId: number): Promise<string[]>
  /** What beginSending records: the hash of each row as it is sent. */
  markSent(submissionId: number): Promise<void>
  /** Ends a submission with one outcome for all of its rows. */
  settleAll(submissionId: number, outcome: string, state?: SubmissionState, keepOut?: boolean): Promise<void>
  row(stream: string, rowKey: string): Promise<Selectable<LedgerView>>
  clear(): Promise<void>
  close(): Promise<void>
}

/** Lands rows in the tables that connections of the pool find. */
export const landingOn =
  (pool: pg.Pool): Ledger['land'] =>
  (stream, rows, foldedKey) =>
    withSession(pool, (session) =>
      session.db.transaction().execute(async (trx) => {
        await createStage(trx)
        await stageRows(
          session.client,
          rows.map(({ partner_id: partnerId, row_key: rowKey = partnerId, content, ordinal: given }, place) =>
            stagedLine({ partnerId, rowKey, content, ordinal: given ?? place }),
          ),
        )
        return await landRows(trx, { runId: 0, stream, foldedKey, judgedBy: 0, guard: async () => false })
      }),
    )

/**
 * Nightferry's own tables in a database of the caller's, with short ways to fill and read them.
 * @param at the database; by default a new one with the newest schema.
 */
export async function openLedger(at?: string): Promise<Ledger> {
  const url = at ?? (await testDatabase()).url
  const pool = createPool(url, {
    max: 6,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const db = createDatabase(pool)
  const inTransaction: Ledger['inTransaction'] = (work) => db.transaction().execute(work)
  const land = landingOn(pool)
  return {
    url,
    pool,
    db,
    inTransaction,
    askResend: (filter = {}) =>
      inTransaction(async (trx) => {
        const actor = { user: 'ada', host: 'ferry' }
        const action = { verb: 'resend', actor, at: new Date(), rows: 1, asked: {} } as const
        await markForResend(trx, await recordAction(trx, action), streamNames, filter)
      }),
    land,
    startRun: async () => {
      await sql`update run set state = 'failed' where state = 'running'`.execute(db)
      const { run_id } = await db
        .insertInto('run')
        .values({
          job: 'nightly-sync',
          trigger: 'cli',
          // Two may start in one millisecond, and the database tells them apart.
          scheduled_for: sql`clock_timestamp()`,
          state: 'running',
          step: 'push',
        })
        .returning('run_id')
        .executeTakeFirstOrThrow()
      return run_id
    },
    landChecked: async (stream, rows, accepted = false) => {
      await land(stream, rows)
      const keys = rows.map(({ partner_id, row_key }) => row_key ?? partner_id)
      await sql`
        update acceptance
        set checked_hash = wanted_hash, invalid_reason = null,
            accepted_hash = case when ${accepted} then wanted_hash else accepted_hash end
        where row_id in (
          select row_id from source_row where stream = ${stream} and row_key = any(${keys}::text[]))`.execute(db)
    },
    plan: (runId, options = {}) =>
      inTransaction((trx) =>
        planKind(trx, {
          judgesProperties: false,
          runId,
          kind: 'framework_answers',
          streams: ['framework_answers', 'omissions'],
          kindStreams: options.kind === undefined ? ['framework_answers', 'omissions'] : (options.streams ?? []),
          requires: {},
          partitionBy: 'framework_id',
          maxRows: 100,
          requests: 1_000,
          sweep: true,
          ...options,
        }),
      ),
    keysOf: async (submissionId) => {
      const rows = await db
        .selectFrom('submission_row')
        .innerJoin('source_row', 'source_row.row_id', 'submission_row.row_id')
        .select('row_key')
        .where('submission_id', '=', submissionId)
        .orderBy('source_row.row_id')
        .execute()
      return rows.map(({ row_key }) => row_key)
    },
    markSent: async (submissionId) => {
      await sql`
        update submission_row set sent_hash = source_row.desired_hash from source_row
        where submission_row.submission_id = ${submissionId} and source_row.row_id = submission_row.row_id`.execute(db)
      await sql`
        update submission set state = 'accepted', correlation_id = ${randomUUID()}
        where submission_id = ${submissionId}`.execute(db)
    },
    settleAll: async (submissionId, outcome, state = 'settled', keepOut = true) => {
      await inTransaction(async (trx) => {
        await sql`
          update submission_row set sent_hash = coalesce(sent_hash, desired_hash)
          from source_row
          where submission_id = ${submissionId} and source_row.row_id = submission_row.row_id`.execute(trx)
        await settleRows(trx, submissionId, keepOut, async () => {
          await sql`insert into verdict (row_id, outcome) select row_id, ${outcome} from carried_row`.execute(trx)
          return { outcome: 'inferred' }
        })
        await sql`update submission set state = ${state} where submission_id = ${submissionId}`.execute(trx)
      })
    },
    row: (stream, rowKey) =>
      db
        .selectFrom('ledger')
        .selectAll()
        .where('stream', '=', stream)
        .where('row_key', '=', rowKey)
        .executeTakeFirstOrThrow(),
    clear: async () => {
      await emptyTables(db, [
        'run',
        'job_schedule',
        'submission',
        'submission_row',
        'held_property',
        'batch_size',
        'candidate',
        'candidate_row',
        'ended_submission',
        'source_row',
        'acceptance',
        'row_change',
        'suspended_hotel',
        'pilot',
        'pilot_hotel',
        'mapping',
        'mapping_change',
        'left_behind',
        'reference_data',
        'reference_past',
        'judging_basis',
        'row_finding',
        'stream_watermark',
        'stream_reading',
        'snapshot_line',
        'snapshot_bucket',
      ])
    },
    close: () => pool.end(),
  }
}

/**
 * A request that went to a destination which waits, and whose tables are not in this database; gone when it is disposed
 * of.
 */
export async function requestElsewhere(
  { db }: Pick<Ledger, 'db'>,
  { state, acceptedAt = null }: { state: SubmissionState; acceptedAt?: Date | null },
): Promise<AsyncDisposable> {
  const { destination_id } = await db
    .insertInto('destination')
    .values({ name: 'elsewhere', schema_name: 'nightferry_destination_99', left_at: new Date() })
    .returning('destination_id')
    .executeTakeFirstOrThrow()
  const { rows } = await sql<{ run_id: number }>`
    insert into run (job, trigger, scheduled_for, state, step, destination_id)
    values ('nightly-sync', 'cli', clock_timestamp(), 'failed', 'push', ${destination_id}) returning run_id`.execute(db)
  const run_id = rows[0]?.run_id ?? 0
  await db
    .insertInto('submission')
    .values({ run_id, kind: 'framework_answers', state, row_count: 0, accepted_at: acceptedAt })
    .execute()
  return {
    [Symbol.asyncDispose]: async () => {
      await db.deleteFrom('submission').where('run_id', '=', run_id).execute()
      await db.deleteFrom('run').where('run_id', '=', run_id).execute()
      await db.deleteFrom('destination').where('destination_id', '=', destination_id).execute()
    },
  }
}
