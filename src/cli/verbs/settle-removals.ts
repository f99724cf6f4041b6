import { night } from '../../config/known-names.ts'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import { given } from '../../given.ts'
import { acceptRemovalsOf, bringBack, partsWords, total } from '../../pipeline/actions/act-on-rows.ts'
import { countRestorable, type RestoreFilter } from '../../pipeline/pull/removals/restore-removed.ts'
import { countAcceptable, type PartFilter, type UnrenewedCount } from '../../pipeline/pull/removals/take-removals.ts'
import { unrenewedLines } from '../../pipeline/report/report-words.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { moment, readable } from '../show/readable.ts'
import { actingUser, requireHotel, withDatabase } from '../with-database.ts'

export type AcceptRemovalsOptions = CommonOptions & {
  reason?: string
  partnerId?: string
  run?: number
  all?: boolean
  dryRun?: boolean
}

/**
 * `nightferry accept-removals`: removes what searches have shown as absent and is withheld, unless a person has brought
 * it back; or, with `--reason`, what stands for that reason. It can be brought back with `nightferry restore`.
 */
export async function acceptRemovals(cli: Cli, options: AcceptRemovalsOptions): Promise<ExitCode> {
  const { reason, partnerId, run: runId } = options
  const filter: PartFilter = given({ reason, partnerId, runId })
  if (Object.keys(filter).length === 0 && !options.all && !options.dryRun) {
    throw new UsageError('Say which removals: --reason, --partner-id, --run, or --all; --dry-run shows them')
  }
  return await withDatabase(
    cli,
    options,
    async ({ db }) => {
      const meant = await countAcceptable(db, filter)
      if (meant.length === 0) await requireHotel(db, partnerId)
      if (options.dryRun) {
        if (options.json) printJson(cli.stdout, { dry_run: true, filter, meant })
        else describe(cli, meant, 'Nothing was removed. Without --dry-run this goes.')
        return exitCodes.well
      }
      const refuse = refuseWhileRunning('accept removals')
      const accepted = await acceptRemovalsOf({ db, now: cli.now }, filter, actingUser(cli), refuse)
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
  const filter: RestoreFilter = given({ runId, since, partnerId })
  if (Object.keys(filter).length === 0 && !options.all) {
    throw new UsageError('Say which removals: --run, --since, --partner-id, or --all')
  }
  return await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      const found = await countRestorable(db, filter)
      if (found.values + found.properties === 0) await requireHotel(db, partnerId)
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
        if (!options.json) describeLeft(cli, found)
        return exitCodes.well
      }
      const restored = await bringBack({ db, now: cli.now }, filter, actingUser(cli), refuseWhileRunning('restore'))
      if (options.json) printJson(cli.stdout, { dry_run: false, filter, restored })
      else if (total(restored) === 0) printLine(cli.stdout, nothing(kept))
      else {
        printLine(
          cli.stdout,
          `Brought back: ${partsWords(restored)}. They stay until a search shows them again; nightferry accept-removals --reason restored lets them go.`,
        )
      }
      if (!options.json) describeLeft(cli, found)
      return exitCodes.well
    },
    'write',
  )
}

function nothing(keptDays: number): string {
  const since = keptDays === 0 ? 'what was removed' : `what was removed in the last ${keptDays} days`
  return `Nothing like that can be brought back: kept is ${since}, and what the service shows again is there. The view removals lists it.`
}

/**
 * Says what stays removed although it is meant: property values of which others have the places, so that no list is
 * taken for whole that is not, and what a later run has removed the rest of.
 */
function describeLeft(cli: Cli, { taken, gone_later: later }: Awaited<ReturnType<typeof countRestorable>>): void {
  if (later > 0) {
    const [stay, their] = later === 1 ? ['stays', 'its'] : ['stay', 'their']
    printLine(
      cli.stdout,
      `${counted(later, 'value')} of this run ${stay} removed: a later run removed the rest of ${their} calculator or company. Bring back first what that run removed.`,
    )
  }
  if (taken === 0) return
  const [are, their] = taken === 1 ? ['is', 'its'] : ['are', 'their']
  printLine(
    cli.stdout,
    `${counted(taken, 'property value')} ${are} kept and cannot come back: others stand in ${their} place, and a list comes back whole or not at all.`,
  )
}

/**
 * Refuses what must not change while a run loads pages, because what it is about may be renewed in this moment.
 * @throws {UsageError} naming the run.
 */
function refuseWhileRunning(what: string): (db: Database) => Promise<void> {
  return async (db) => {
    const running = await runInTheWay(db, night)
    if (running === undefined) return
    throw new UsageError(
      `Run ${running.run_id} is under way and may change what this is about; ${what} when it has ended`,
    )
  }
}
