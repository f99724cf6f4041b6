import { restore as bringBack, partsWords, total } from '../../pipeline/actions/removals.ts'
import { countRestorable, type RestoreFilter } from '../../pipeline/pull/removals/restore-removed.ts'
import { actingUser } from '../acting-user.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { refuseWhileRunning } from '../refuse-while-running.ts'
import { counted, moment } from '../show/readable.ts'
import { withDatabase } from '../with-database.ts'

export type RestoreOptions = CommonOptions & {
  run?: number
  since?: Date
  partnerId?: string
  all?: boolean
  dryRun?: boolean
}

/**
 * `nightferry restore`: brings back values and property values that were removed, as they were last, with the
 * calculators and companies that went with them. No search removes them again until one has shown them, or a person
 * accepts it.
 */
export async function restore(cli: Cli, options: RestoreOptions): Promise<ExitCode> {
  const { run: runId, since, partnerId } = options
  const filter: RestoreFilter = {
    ...(runId !== undefined && { runId }),
    ...(since !== undefined && { since }),
    ...(partnerId !== undefined && { partnerId }),
  }
  if (Object.keys(filter).length === 0 && !options.all) {
    throw new UsageError('Say which removals: --run, --since, --partner-id, or --all')
  }
  return await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      const found = await countRestorable(db, filter)
      const kept = config.pull.keepRemovedDays
      if (options.dryRun) {
        if (options.json) printJson(cli.stdout, { dry_run: true, filter, found })
        else if (found.values + found.properties === 0) printLine(cli.stdout, nothing(kept))
        else {
          const what = `${counted(found.values, 'value')} and ${counted(found.properties, 'property value')}`
          printLine(
            cli.stdout,
            `${what} of ${found.companies} ${found.companies === 1 ? 'company' : 'companies'}, removed since ${moment(found.removed_since)} UTC, would be brought back. Nothing was changed.`,
          )
        }
        return exitCodes.well
      }
      await refuseWhileRunning(db, 'restore')
      const restored = await bringBack({ db, now: cli.now }, filter, actingUser(cli))
      if (options.json) printJson(cli.stdout, { dry_run: false, filter, restored })
      else if (total(restored) === 0) printLine(cli.stdout, nothing(kept))
      else {
        printLine(
          cli.stdout,
          `Brought back: ${partsWords(restored)}. They stay until a search shows them again; nightferry accept-removals --reason restored lets them go.`,
        )
      }
      return exitCodes.well
    },
    'write',
  )
}

function nothing(keptDays: number): string {
  const since = keptDays === 0 ? 'what was removed' : `what was removed in the last ${keptDays} days`
  return `Nothing like that can be brought back: kept is ${since}, and what the service shows again is there. The view removals lists it.`
}
