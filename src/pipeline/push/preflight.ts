import { countPending, firstPlace, type PendingPlace, pendingRows, storeChecks } from '../../db/ledger/pending-rows.ts'
import { releaseRetries } from '../../db/ledger/retry-rows.ts'
import type { Run } from '../../db/tables/run.ts'
import type { Deps } from '../deps.ts'
import { checkRow } from './check-row.ts'
import { loadReferenceIndex } from './reference-index.ts'

/** Rows judged at a time: bounds memory, whatever the backlog. */
const batchRows = 500

/**
 * Judges every pending row against the cached reference data; what fails is invalid, with its reason, and is not sent.
 * What this run brought was judged on its way into the ledger (delta/judge-row.ts).
 * Rows that were invalid are judged again: the reference data may have changed. Rows that a person wants sent again are
 * released first, so that they are counted and judged with the others.
 */
export async function preflight(deps: Deps, run: Run): Promise<void> {
  const retried = await releaseRetries(deps.db)
  if (retried > 0) deps.logger.info({ run_id: run.run_id, rows: retried }, 'retries_released')
  await countPending(deps.db, run.run_id)
  const reference = await loadReferenceIndex(deps.db)
  let invalid = 0
  for (let after: PendingPlace = firstPlace; ; ) {
    const rows = await pendingRows(deps.db, run.run_id, after, batchRows)
    const checks = rows.map((row) => ({
      row_id: row.row_id,
      hash: row.hash,
      invalid_reason: checkRow(deps.contract, reference, row.stream, row.partner_id, row.content),
    }))
    if (checks.length > 0) await storeChecks(deps.db, checks)
    invalid += checks.filter(({ invalid_reason }) => invalid_reason !== null).length
    const last = rows.at(-1)
    if (last === undefined) break
    after = last
  }
  deps.logger.info({ run_id: run.run_id, invalid }, 'preflight_done')
}
