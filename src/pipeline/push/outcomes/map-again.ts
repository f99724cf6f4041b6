import { hostname } from 'node:os'
import type { Transaction } from 'kysely'
import { recordAction } from '../../../db/actions/record-action.ts'
import { countResendable, markForResend } from '../../../db/ledger/rows-again.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import type { Deps } from '../../deps.ts'

/**
 * Has the next run ask again which company each of these properties is: the service names them with another one than
 * their mapping does. Until it has answered, nothing is sent for them. Properties whose mapping is pending anyway are
 * left as they are.
 */
export async function mapAgain(
  { now, logger }: Pick<Deps, 'now' | 'logger'>,
  trx: Transaction<Schema>,
  { run_id, submission_id }: Submission,
  partnerIds: readonly string[],
): Promise<void> {
  if (partnerIds.length === 0) return
  logger.warn({ run_id, submission_id, properties: partnerIds.length }, 'result_other_company')
  const which = { stream: 'properties', partnerIds }
  const [found] = await countResendable(trx, which)
  if (found === undefined) return
  const actionId = await recordAction(trx, {
    verb: 'repair',
    actor: { user: 'nightferry', host: hostname() },
    at: now(),
    submissionId: submission_id,
    rows: found.rows,
    asked: { stream: 'properties', run: String(run_id) },
    result: 'the next run asks for their mappings again',
  })
  await markForResend(trx, actionId, which)
}
