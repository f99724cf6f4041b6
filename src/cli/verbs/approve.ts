import { night } from '../../config/known-names.ts'
import { requirementsOf } from '../../config/require-settings.ts'
import { counted } from '../../counted.ts'
import { approvePlans, plansOf } from '../../db/guard/guard-plan.ts'
import { isConfiguredStream, type Requires } from '../../db/ledger/requirements.ts'
import { runExists } from '../../db/runs/newest-runs.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import type { GuardPlan } from '../../db/tables/run-tables.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { renderHeld } from '../show/row-words.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type ApproveOptions = CommonOptions & { dryRun?: boolean }

/** `nightferry approve <run>`: lets through what the guard stopped a run over, and nothing else. */
export async function approve(cli: Cli, runId: number, options: ApproveOptions): Promise<ExitCode> {
  return await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      if (!(await runExists(db, runId))) throw new UsageError(`There is no run ${runId}; nightferry runs lists them`)
      const plans = await plansOf(db, runId)
      refuseUnlessWaiting(runId, plans)
      // A run that is under way counts what is held, and would be wrong about it.
      const running = await runInTheWay(db, night)
      if (running !== undefined && options.dryRun !== true) {
        throw new UsageError(`Run ${running.run_id} is under way and judges again; approve when it has ended`)
      }
      const shown = options.dryRun
        ? plans.filter(({ state }) => state === 'waiting')
        : await db.transaction().execute((trx) => approvePlans(trx, runId, actingUser(cli), cli.now()))
      // Another process was faster than this one since the plans were read.
      if (shown.length === 0) refuseUnlessWaiting(runId, await plansOf(db, runId))
      if (options.json) printJson(cli.stdout, shown)
      else {
        printLine(cli.stdout, renderHeld(shown))
        printLine(cli.stdout)
        printLine(
          cli.stdout,
          options.dryRun
            ? `Nothing was approved. nightferry approve ${runId} lets this through.`
            : `Approved. ${approvalWords(shown, requirementsOf(config))}`,
        )
      }
      return exitCodes.well
    },
    'write',
  )
}

/** What an approval did: what is new or changed goes out with the next run, what is gone is marked so already. */
function approvalWords(plans: readonly GuardPlan[], requires: Requires): string {
  const gone = plans.reduce((sum, plan) => sum + plan.gone, 0)
  const toSend = plans.filter((plan) => plan.new + plan.changed > 0 || gone === 0).map(({ stream }) => stream)
  const unsent = toSend.filter((stream) => !isConfiguredStream(requires, stream))
  const marked = `${counted(gone, 'row')} ${gone === 1 ? 'is' : 'are'} marked as gone; nothing is sent for that.`
  const left = `No run sends rows of ${unsent.join(', ')}, which the configuration does not name.`
  return [
    ...(gone > 0 ? [marked] : []),
    ...(toSend.length > unsent.length ? [`The next run sends it: nightferry run ${night}`] : []),
    ...(unsent.length > 0 ? [left] : []),
  ].join(' ')
}

function refuseUnlessWaiting(runId: number, plans: readonly GuardPlan[]): void {
  if (plans.some(({ state }) => state === 'waiting')) return
  const [plan] = plans
  if (plan === undefined) throw new UsageError(`Run ${runId} was not held by the guard; there is nothing to approve`)
  throw new UsageError(
    plan.state === 'approved'
      ? `What run ${runId} was held over is approved already, by ${plan.approved_by ?? 'somebody'}`
      : `A later run has judged again what run ${runId} was held over; nightferry runs says whether it is held too`,
  )
}
