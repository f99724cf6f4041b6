import { requirementsOf } from '../../config/requirements.ts'
import { planKind } from '../../db/ledger/plan-kind.ts'
import { holdRun } from '../../db/runs/hold-run.ts'
import type { Run } from '../../db/tables/run.ts'
import type { Deps } from '../deps.ts'
import { type KindName, kindNames, kinds } from './kinds.ts'
import { unfinishedStates } from './submission-state.ts'

/**
 * Cuts every ready row into submissions and asks for each to be looked at. Runs at the start of the push and
 * after every settlement, so that rows go out as soon as what they require is accepted.
 *
 * A run that the guard holds plans nothing: it waits for what an earlier run left in flight, and ends.
 *
 * @returns whether anything is still under way: planned now, or not yet at its end.
 */
export async function planWave(deps: Deps, run: Run): Promise<boolean> {
  // Asked first: a submission that settles while rows are planned may release some that were passed over already. Its
  // settlement asks for another look at the run, which must find the run still waiting.
  const underWay = await anyUnfinished(deps, run)
  if (run.held) return underWay
  let planned = 0
  // A transaction each: the first kind's requests go out while the next kind is cut.
  for (const kind of kindNames) planned += await planOneKind(deps, run, kind)
  return underWay || planned > 0
}

async function anyUnfinished({ db }: Deps, run: Run): Promise<boolean> {
  const unfinished = await db
    .selectFrom('submission')
    .select('submission_id')
    .where('run_id', '=', run.run_id)
    .where('kind', 'in', kindNames)
    .where('state', 'in', unfinishedStates)
    .limit(1)
    .executeTakeFirst()
  return unfinished !== undefined
}

async function planOneKind({ config, db, looks, logger }: Deps, run: Run, name: KindName): Promise<number> {
  const kind = kinds[name]
  const streams = kind.streams.filter((stream) => config.streams[stream])
  if (streams.length === 0) return 0
  const planned = await db.transaction().execute(async (trx) => {
    if (!(await holdRun(trx, run.run_id))) return []
    const submissionIds = await planKind(trx, {
      runId: run.run_id,
      kind: name,
      streams,
      requires: requirementsOf(config),
      partitionBy: kind.partitionBy,
      maxRows: kind.maxRows(config.push),
    })
    await looks.atSubmissions(trx, submissionIds)
    return submissionIds
  })
  if (planned.length > 0) logger.info({ run_id: run.run_id, kind: name, submissions: planned.length }, 'wave_planned')
  return planned.length
}
