import { requirementsOf } from '../../../config/require-settings.ts'
import { isHeld } from '../../../db/guard/guard-plan.ts'
import { considerEnded, type KindStreams, unfinishedOfKind, wasSwept } from '../../../db/ledger/candidates.ts'
import { planKind } from '../../../db/ledger/plan-kind.ts'
import { lockRun } from '../../../db/runs/run-life.ts'
import type { Run, RunAsked } from '../../../db/tables/run-tables.ts'
import { unfinishedStates } from '../../../db/tables/submission-tables.ts'
import type { Deps } from '../../deps.ts'
import { anyUnjudged } from '../../preflight/judgements.ts'
import { judgeRows } from '../../preflight/preflight.ts'
import { kindNamesOf, searchKinds } from '../../streams/kind-names.ts'
import { carriedStreams } from '../../streams/our-streams.ts'
import { judgesProperties, kindOf } from '../kinds.ts'
import { sizeOf } from './learn-size.ts'

type WaveOptions = {
  /** Submissions of a kind that may be unfinished at once; `push.inFlightPerKind` unless it is given. */
  inFlightPerKind?: number
}

/**
 * Cuts ready rows into submissions, as many as keep each kind's share in flight, and asks for each to be looked at.
 * Runs at the start of the push and after every settlement, so that rows go out as soon as what they require is
 * accepted.
 *
 * Before it says that nothing is under way it looks over all rows once more, not only those that a settlement has
 * named: a run does not end while anything is ready.
 *
 * A run that the guard holds plans nothing, nor does one that only sends while another is held: it waits for what an
 * earlier run left in flight, and ends.
 *
 * @returns whether anything is still under way: planned now, or not yet at its end. What is overdue is not waited for.
 */
export async function planWave(deps: Deps, run: Run, options: WaveOptions = {}): Promise<boolean> {
  // Asked first: a submission that settles while rows are planned may release some that were passed over already. Its
  // settlement asks for another look at the run, which must find the run still waiting.
  const underWay = await anyUnfinished(deps, run)
  if (await isHeld(deps.db, run, requirementsOf(deps.config))) return underWay
  // A mapping that was settled may have moved a hotel, or made two of them one company: before their rows are cut.
  if (await anyUnjudged(deps.db)) {
    const judged = await judgeRows(deps, run.started_at, 'unjudged')
    deps.logger.info({ run_id: run.run_id, ...judged }, 'rows_judged_again')
  }
  await deps.db.transaction().execute(async (trx) => {
    if (await lockRun(trx, run.run_id)) {
      await considerEnded(trx, run.run_id, plannableKinds(deps, run.asked), requirementsOf(deps.config))
    }
  })
  const unswept: KindStreams[] = []
  let planned = 0
  // A transaction each: the first kind's requests go out while the next kind is cut.
  for (const kind of plannableKinds(deps, run.asked)) {
    const cut = await planOneKind(deps, run, kind, options, false)
    planned += cut.planned
    if (!cut.swept) unswept.push(kind)
  }
  if (underWay || planned > 0) return true
  for (const kind of unswept) planned += (await planOneKind(deps, run, kind, options, true)).planned
  return planned > 0
}

async function anyUnfinished({ db }: Deps, run: Run): Promise<boolean> {
  const unfinished = await db
    .selectFrom('submission')
    .select('submission_id')
    .where('run_id', '=', run.run_id)
    .where('kind', 'not in', searchKinds)
    .where('state', 'in', unfinishedStates)
    // A task that ended after all is waited for until its outcomes are read.
    .where((eb) => eb.or([eb('overdue_since', 'is', null), eb('state', '=', 'terminal')]))
    .limit(1)
    .executeTakeFirst()
  return unfinished !== undefined
}

function plannableKinds({ config, contract }: Deps, { streams: asked }: RunAsked): KindStreams[] {
  const carried = carriedStreams(contract, config).filter((stream) => asked?.includes(stream) ?? true)
  return kindNamesOf(contract)
    .map((kind) => ({ kind, streams: kindOf(contract, kind).streams.filter((stream) => carried.includes(stream)) }))
    .filter(({ streams }) => streams.length > 0)
}

async function planOneKind(
  deps: Deps,
  run: Run,
  { kind: name, streams }: KindStreams,
  { inFlightPerKind = deps.config.push.inFlightPerKind }: WaveOptions,
  again: boolean,
): Promise<{ planned: number; swept: boolean }> {
  const { config, contract, db, looks, logger } = deps
  const kind = kindOf(contract, name)
  const cut = await db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return { planned: 0, swept: true }
    const sweep = again || !(await wasSwept(trx, run.run_id, name))
    const submissionIds = await planKind(trx, {
      runId: run.run_id,
      kind: name,
      streams,
      kindStreams: kind.streams,
      requires: requirementsOf(config),
      partitionBy: kind.partitionBy,
      judgesProperties: judgesProperties(kind),
      maxRows: await sizeOf({ config, contract, db: trx }, name),
      requests: inFlightPerKind - (await unfinishedOfKind(trx, run.run_id, name)),
      sweep,
    })
    await looks.atSubmissions(trx, submissionIds)
    return { planned: submissionIds.length, swept: sweep }
  })
  if (cut.planned > 0) {
    logger.info({ run_id: run.run_id, kind: name, submissions: cut.planned, overlooked: again }, 'wave_planned')
  }
  return cut
}
