import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { sql } from 'kysely'
import type { Submission } from '../../db/tables/submission.ts'
import type { Deps } from '../deps.ts'
import type { OutgoingRow } from './bodies/body.ts'
import { kindOf, searchKind } from './kinds.ts'
import { moveSubmission } from './move-submission.ts'
import { loadReferenceIndex } from './reference-index.ts'

const compress = promisify(gzip)
export const decompress = promisify(gunzip)

/**
 * Stores the exact payload and the intent to send it, before a byte leaves. A second attempt sends the same payload.
 * The hashes of what the payload says of each row are kept beside it: the row may change while it is in flight.
 *
 * @returns the body to send, or null when the submission is no longer planned.
 */
export async function beginSending(deps: Deps, submission: Submission): Promise<Buffer | null> {
  const attempt = { attempts: submission.attempts + 1, attempted_at: deps.now() }
  if (submission.payload !== null) {
    const moved = await deps.db
      .transaction()
      .execute((trx) => moveSubmission(trx, submission.submission_id, 'send_begun', attempt))
    return moved === null ? null : await decompress(submission.payload)
  }
  // One snapshot for rows and hashes: what is recorded as sent is what the payload says.
  return await deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const body = Buffer.from(await writeBody({ ...deps, db: trx }, submission))
      const payload = await compress(body, { level: 3 })
      await sql`
        update submission_row set sent_hash = source_row.desired_hash
        from source_row
        where submission_row.submission_id = ${submission.submission_id}
          and source_row.row_id = submission_row.row_id`.execute(trx)
      const patch = { ...attempt, payload, payload_bytes: body.length }
      const moved = await moveSubmission(trx, submission.submission_id, 'send_begun', patch)
      return moved === null ? null : body
    })
}

/** What a submission says, as it would be sent now. */
export async function writeBody(deps: Deps, submission: Submission): Promise<string> {
  const { contract, config, required } = deps
  if (submission.kind === searchKind) {
    const names = contract.names.calculatorsSearch
    return JSON.stringify({
      [names.customPropertyIds]: config.pull.customPropertyIds,
      [names.calculatorTypeIds]: config.pull.calculatorTypeIds,
    })
  }
  const rows = (await deps.db
    .selectFrom('submission_row')
    .innerJoin('source_row', 'source_row.row_id', 'submission_row.row_id')
    .select(['stream', 'partner_id', 'content'])
    .where('submission_id', '=', submission.submission_id)
    .orderBy('partner_id')
    .orderBy('source_row.row_id')
    .execute()) as OutgoingRow[]
  const context = {
    contract,
    reference: await loadReferenceIndex(deps.db),
    customIdentifierId: required.customIdentifierId,
    groupId: required.groupId,
    partition: submission.partition,
  }
  return [...kindOf(contract, submission.kind).writeBody(rows, context)].join('')
}
