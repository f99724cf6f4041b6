import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { ActionTable, ActionVerb } from '../tables/run-tables.ts'

export type Action = Selectable<ActionTable>

/** Which actions a person asks about; what is left out does not matter. */
export type ActionFilter = {
  verb?: ActionVerb
  submissionId?: number
  /** What was done about this run, or about one of its requests. */
  runId?: number
  partnerId?: string
  stream?: string
  job?: string
  /** From this moment on. */
  since?: Date
}

/** Whether an `action` was about a hotel by name, about a row of it, or about a request that carried one. */
export const isAboutHotel = (partnerId: string): RawBuilder<boolean> => sql<boolean>`(
  ${partnerId} in (asked ->> 'partnerId', asked ->> 'partner_id')
  or action_id in (select retry_action from ledger where partner_id = ${partnerId})
  or submission_id in (
    select submission_row.submission_id from source_row join submission_row using (row_id)
    where partner_id = ${partnerId}))`

/** What people did, newest first. */
export async function listActions(db: Database, filter: ActionFilter, limit: number): Promise<Action[]> {
  const { verb, submissionId, runId, partnerId, stream, job, since } = filter
  const ofRun = sql<boolean>`(
    asked ->> 'run' = ${String(runId)}
    or submission_id in (select submission_id from submission where run_id = ${runId ?? null}))`
  return await db
    .selectFrom('action')
    .selectAll()
    .$if(verb !== undefined, (all) => all.where('verb', '=', verb ?? 'retry'))
    .$if(submissionId !== undefined, (all) => all.where('submission_id', '=', submissionId ?? null))
    .$if(runId !== undefined, (all) => all.where(ofRun))
    .$if(partnerId !== undefined, (all) => all.where(isAboutHotel(partnerId ?? '')))
    .$if(stream !== undefined, (all) => all.where(sql`asked ->> 'stream'`, '=', stream))
    .$if(job !== undefined, (all) => all.where(sql`asked ->> 'job'`, '=', job))
    .$if(since !== undefined, (all) => all.where('acted_at', '>=', since ?? new Date(0)))
    .orderBy('action_id', 'desc')
    .limit(limit)
    .execute()
}
