import { type Selectable, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { JobRequestTable } from '../tables/job-tables.ts'

export type JobRequest = Selectable<JobRequestTable>

/** What came of a request; `waiting` leaves it to a later look. */
export type RequestAnswer = { state: 'started' | 'joined'; runId: number } | { state: 'refused'; reason: string } | null

/**
 * Answers the waiting requests, oldest first, each under the lock of its row: of several processes one does.
 * A process that dies after it acted and before the answer is stored leaves a request that is acted on again.
 */
export async function answerRequests(
  db: Database,
  answer: (request: JobRequest) => Promise<RequestAnswer>,
): Promise<void> {
  let last = 0
  for (;;) {
    const next = await db.transaction().execute(async (trx) => {
      const request = await lockNext(trx, last)
      if (request === undefined) return null
      const given = await answer(request)
      if (given !== null) await store(trx, request.request_id, given)
      return request.request_id
    })
    if (next === null) return
    last = next
  }
}

async function lockNext(trx: Transaction<Schema>, after: number): Promise<JobRequest | undefined> {
  return await trx
    .selectFrom('job_request')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('request_id', '>', after)
    .orderBy('request_id')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

async function store(trx: Transaction<Schema>, requestId: number, answer: Exclude<RequestAnswer, null>): Promise<void> {
  const runId = answer.state === 'refused' ? null : answer.runId
  const reason = answer.state === 'refused' ? answer.reason : null
  await sql`
    update job_request
    set state = ${answer.state}, run_id = ${runId}, reason = ${reason}, answered_at = clock_timestamp()
    where request_id = ${requestId}`.execute(trx)
}
