import { acceptUntaken, partsWords, total } from '../../pipeline/actions/removals.ts'
import { countAcceptable, type PartFilter, type UnrenewedCount } from '../../pipeline/pull/removals/take-removals.ts'
import { unrenewedLines } from '../../pipeline/report/unrenewed-words.ts'
import { actingUser } from '../acting-user.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { refuseWhileRunning } from '../refuse-while-running.ts'
import { readable } from '../show/readable.ts'
import { withDatabase } from '../with-database.ts'

export type AcceptRemovalsOptions = CommonOptions & {
  reason?: string
  partnerId?: string
  run?: number
  all?: boolean
  dryRun?: boolean
}

/**
 * `nightferry accept-removals`: removes what searches have shown as absent and is withheld, or, with `--reason`,
 * what stands for that reason. It can be brought back with `nightferry restore`.
 */
export async function acceptRemovals(cli: Cli, options: AcceptRemovalsOptions): Promise<ExitCode> {
  const { reason, partnerId, run: runId } = options
  const filter: PartFilter = {
    ...(reason !== undefined && { reason }),
    ...(partnerId !== undefined && { partnerId }),
    ...(runId !== undefined && { runId }),
  }
  if (Object.keys(filter).length === 0 && !options.all && !options.dryRun) {
    throw new UsageError('Say which removals: --reason, --partner-id, --run, or --all; --dry-run shows them')
  }
  return await withDatabase(
    cli,
    options,
    async ({ db }) => {
      const meant = await countAcceptable(db, filter)
      if (options.dryRun) {
        if (options.json) printJson(cli.stdout, { dry_run: true, filter, meant })
        else describe(cli, meant, 'Nothing was removed. Without --dry-run this goes.')
        return exitCodes.well
      }
      await refuseWhileRunning(db, 'accept removals')
      const accepted = await acceptUntaken({ db, now: cli.now }, filter, actingUser(cli))
      if (options.json) printJson(cli.stdout, { dry_run: false, filter, meant, accepted })
      else if (total(accepted) === 0) describe(cli, [], '')
      else describe(cli, meant, `Removed: ${partsWords(accepted)}. nightferry restore brings them back.`)
      return exitCodes.well
    },
    'write',
  )
}

function describe(cli: Cli, meant: readonly UnrenewedCount[], last: string): void {
  if (meant.length === 0) {
    printLine(
      cli.stdout,
      'No removal like that is withheld. The view not_renewed lists what stands without having been renewed.',
    )
    return
  }
  for (const line of unrenewedLines(meant)) printLine(cli.stdout, readable(line))
  printLine(cli.stdout, last)
}
