import { sql } from 'kysely'
import { judgeInputs, stageInputs } from '../../db/differences/judge-inputs.ts'
import { noteNotCompared, storeDifferences } from '../../db/differences/store-differences.ts'
import { lockRun } from '../../db/runs/lock-run.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'
import { searchKind } from '../streams/kind-names.ts'

/**
 * Closes the loop: the inputs that the service has accepted are compared with those that the run's search returned
 * (specification, Calculator search result page). A search that cannot prove absence is compared with nothing, and the
 * differences stay those of the last one that could. Does nothing in a run without a search.
 */
export async function compareWithStored(deps: Deps, run: Run): Promise<void> {
  const search = await searchOf(deps, run)
  if (search === undefined) return
  const { calculatorTypeIds } = deps.config.pull
  await deps.db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return
    const reason = reasonToWithhold(search)
    if (reason !== null) {
      await noteNotCompared(trx, run.run_id, search.submission_id, reason)
      return
    }
    const proven = { submissionId: search.submission_id, calculatorTypeIds }
    await stageInputs(trx, proven)
    await judgeInputs(trx, proven)
    await storeDifferences(trx, run.run_id, search.submission_id)
  })
  deps.logger.info({ run_id: run.run_id, submission_id: search.submission_id }, 'inputs_compared')
}

type EndedSearch = {
  submission_id: number
  /** Whether it was judged what the search proves absent. */
  ended: boolean
  /** Why it proves nothing absent, or null. */
  reason: string | null
  /** Parts of its pages that were left out, and how many of them the quarantine names. */
  left_out: number
  listed_out: number
}

/** Why what was sent cannot be compared with a search, or null. Pure. */
export function reasonToWithhold({
  ended,
  reason,
  left_out,
  listed_out,
}: Omit<EndedSearch, 'submission_id'>): string | null {
  if (!ended) return 'pages_not_loaded'
  // Which companies lack a part is known only as far as the quarantine names it.
  return reason ?? (left_out > listed_out ? 'too_much_left_out' : null)
}

async function searchOf(deps: Deps, run: Run): Promise<EndedSearch | undefined> {
  const { rows } = await sql<EndedSearch>`
    select submission_id, search_result is not null as ended, search_result ->> 'reason' as reason,
           (select coalesce(sum(quarantined), 0)::bigint from search_page p
             where p.submission_id = s.submission_id) as left_out,
           (select count(*) from quarantine join search_page p using (page_id)
             where p.submission_id = s.submission_id) as listed_out
    from submission s
    where run_id = ${run.run_id} and kind = ${searchKind} and state = 'settled'`.execute(deps.db)
  return rows[0]
}
