import { requirementsOf } from '../../config/require-settings.ts'
import { countPending } from '../../db/ledger/count-pending.ts'
import { releaseByPolicy } from '../../db/ledger/resend-policy.ts'
import { releaseResends } from '../../db/ledger/resend-rows.ts'
import { releaseRetries } from '../../db/ledger/retry-rows.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'
import { loadReferenceIndex, type ReferenceIndex } from '../streams/rules/reference-index.ts'
import { findContradictions } from './find-contradictions.ts'
import { checkRow, judgingOf, rowWarnings } from './judge-row.ts'
import { resendPolicies } from './judging-basis.ts'
import { type Judgement, storeJudgements, type UnjudgedRow, unjudgedRows } from './unjudged-rows.ts'

/** Rows judged at a time: bounds memory, whatever the backlog. */
const batchRows = 500

/**
 * Judges pending rows against the reference data in force and against each other; what fails is invalid, with its
 * reason, and is not sent. A row is judged when its content, or what it was judged by, has changed since, or the row
 * that it contradicts; all others keep their verdict, so that a night with no change costs nothing. Rows that a person,
 * or a policy, wants sent again are released first, so that they are counted with the others.
 */
export async function preflight(deps: Deps, run: Run): Promise<void> {
  const { db, logger } = deps
  const again = await releaseResends(db, requirementsOf(deps.config))
  if (again > 0) logger.info({ run_id: run.run_id, rows: again }, 'resends_released')
  const retried = await releaseRetries(db)
  if (retried > 0) logger.info({ run_id: run.run_id, rows: retried }, 'retries_released')
  const resent = await releaseByPolicy(db, resendPolicies(deps.config, deps.contract), deps.now())
  if (resent > 0) logger.info({ run_id: run.run_id, rows: resent }, 'rejected_released_by_policy')
  await countPending(db, run.run_id)
  const judged = await judgeRows(deps, run.started_at)
  logger.info({ run_id: run.run_id, ...judged }, 'preflight_done')
}

/**
 * Judges every row that has to be, and says how many, and how many of these are invalid.
 * @param since when the run began.
 * @param which `unjudged`: in the middle of a run, only what the run itself made to be judged again.
 */
export async function judgeRows(
  deps: Deps,
  since: Date,
  which: 'all' | 'unjudged' = 'all',
): Promise<{ judged: number; invalid: number; contradicting: number }> {
  const { db } = deps
  const { basis, rules } = await judgingOf(deps)
  const contradicting = await db.transaction().execute((trx) => findContradictions(trx, basis, since, which))
  const counts = { judged: 0, invalid: 0, contradicting }
  let reference: ReferenceIndex | null = null
  for await (const rows of unjudgedRows(db, basis, batchRows)) {
    // A night with nothing to judge does not read the frameworks.
    reference ??= await loadReferenceIndex(db, rules)
    const judgements = rows.map((row) => judgementOf(deps, reference as ReferenceIndex, row))
    await storeJudgements(db, basis, judgements)
    const living = new Set(rows.filter(({ is_gone }) => !is_gone).map(({ row_id }) => row_id))
    counts.judged += living.size
    counts.invalid += judgements.filter((one) => one.invalid_reason !== null && living.has(one.row_id)).length
  }
  return counts
}

function judgementOf({ contract }: Deps, reference: ReferenceIndex, row: UnjudgedRow): Judgement {
  const { row_id, hash, stream, partner_id, content } = row
  return {
    row_id,
    hash,
    invalid_reason: checkRow(contract, reference, stream, partner_id, content) ?? row.contradiction,
    warnings: rowWarnings(reference, stream, content),
  }
}
