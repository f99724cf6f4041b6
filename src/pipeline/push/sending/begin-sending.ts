import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import type { SizedBody } from '../../../exchange/call-service.ts'
import type { Deps } from '../../deps.ts'
import { keyFingerprint } from '../../gate/key-fingerprint.ts'
import { moveSubmission } from '../move-submission.ts'
import { readPayload, storePayload } from './payload.ts'
import { writeBody } from './write-body.ts'

/**
 * Stores the exact payload and the intent to send it, before a byte leaves. A second attempt sends the same payload.
 * The hashes of what the payload says of each row are kept beside it: the row may change while it is in flight, and may
 * have changed since it was planned.
 *
 * @returns the body to send, read from what was stored; null when the submission is no longer planned.
 */
export async function beginSending(deps: Deps, submission: Submission): Promise<SizedBody | null> {
  const { submission_id: id, payload_bytes: written } = submission
  const skew = deps.exchange.skew()
  const attempt = {
    attempts: submission.attempts + 1,
    attempted_at: deps.now(),
    overdue_since: null,
    skew_low_ms: skew === null ? null : Math.floor(skew.lowMs),
    key_fingerprint: keyFingerprint(deps.required.apiKey, deps.required.baseUrl),
  }
  const content = () => readPayload(deps.db, id)
  if (written !== null) {
    const moved = await deps.db.transaction().execute((trx) => moveSubmission(trx, id, 'send_begun', attempt))
    return moved === null ? null : { bytes: written, content }
  }
  // One snapshot for rows and hashes: what is recorded as sent is what the payload says.
  return await deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const moved = await moveSubmission(trx, id, 'send_begun', attempt)
      if (moved === null) return null
      let changed = false
      const body = writeBody(deps, trx, submission, () => {
        changed = true
      })
      const bytes = await storePayload(trx, id, body)
      if (changed) await keepSentHashes(trx, id)
      await trx.updateTable('submission').set({ payload_bytes: bytes }).where('submission_id', '=', id).execute()
      return { bytes, content }
    })
}

async function keepSentHashes(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    update submission_row set sent_hash = source_row.desired_hash
    from source_row
    where submission_row.submission_id = ${submissionId}
      and source_row.row_id = submission_row.row_id
      and submission_row.sent_hash is distinct from source_row.desired_hash`.execute(trx)
}
