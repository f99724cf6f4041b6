import { nightlySync } from '../../jobs/nightly-sync.ts'
import { planRun } from '../../pipeline/plan/plan-run.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson } from '../cli.ts'
import { openStages } from '../open-ferry.ts'
import { readConfig } from '../read-config.ts'
import { contentDifference } from '../show/content-difference.ts'
import { renderPlan } from '../show/render-plan.ts'
import { rowWords } from '../show/row-words.ts'
import { quietConfig } from './run.ts'

export type PlanVerbOptions = CommonOptions & {
  cached?: boolean
  /** True where no number is given. */
  bodies?: number | true
  diff?: boolean
  limit: number
}

/**
 * `nightferry plan`: what a run would send now, and why. Sends nothing, and leaves nothing behind: it works on
 * temporary copies of the ledger, also while a run is under way.
 */
export async function plan(cli: Cli, options: PlanVerbOptions): Promise<ExitCode> {
  const opened = await openStages(cli, quietConfig(readConfig(cli, options)))
  try {
    const { rows, ...planned } = await planRun(opened.deps, {
      job: nightlySync.name,
      cached: options.cached === true,
      bodies: options.bodies === true ? 1 : (options.bodies ?? 0),
      rows: options.limit,
    })
    const differences = rows.map(({ stream, partner_id, row_key, from, to }) => ({
      stream,
      partner_id,
      row_key,
      words: rowWords(stream, to),
      new: from === null,
      differences: from === null ? [] : contentDifference(from, to),
    }))
    if (options.json) printJson(cli.stdout, { ...planned, ...(options.diff && { differences }) })
    else cli.stdout.write(renderPlan(planned, options.diff ? differences : null, options.limit))
    return exitCodes.well
  } finally {
    await opened.close()
  }
}
