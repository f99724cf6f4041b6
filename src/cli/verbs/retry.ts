import { findHeldRun } from '../../db/guard/guard-plan.ts'
import { countRetryable, type RetryCounts, retryableRows } from '../../db/ledger/rows-again.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import { nightlySync } from '../../jobs/known-jobs.ts'
import { retryRejected } from '../../pipeline/actions/send-again.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import type { FilterOptions } from '../option-values.ts'
import { readConfig } from '../read-config.ts'
import { filterOf } from '../row-filter.ts'
import { counted, readable } from '../show/readable.ts'
import { actingUser, withDatabase } from '../with-database.ts'
import { openToFollow, runToEnd } from './run.ts'

export type RetryOptions = CommonOptions & FilterOptions & { all?: boolean; dryRun?: boolean; run?: boolean }

/** Rows that are shown as examples of what a retry marks. */
const examples = 20

/**
 * `nightferry retry`: rows that the service rejected are sent again as they are, once, by the next run, or now with
 * `--run`. A row that is rejected again stays rejected until it changes or a person asks again.
 */
export async function retry(cli: Cli, options: RetryOptions): Promise<ExitCode> {
  const filter = filterOf(cli, options)
  if (Object.keys(filter).length === 0 && !options.all) {
    throw new UsageError('Say which rows: --reason, --stream, --partner-id, --since, or --all')
  }
  if (options.dryRun && options.run) throw new UsageError('--dry-run and --run: choose one')
  const marked = await withDatabase(
    cli,
    options,
    async ({ db }) => {
      if (options.run && (await runInTheWay(db, nightlySync.name)) !== undefined) {
        throw new UsageError(
          'A run is under way, and sends nothing again; without --run the rows wait for the one after it',
        )
      }
      const rows = await retryableRows(db, filter, examples)
      const streams = options.dryRun
        ? await countRetryable(db, filter)
        : await retryRejected({ db, now: cli.now }, filter, actingUser(cli))
      return { total: total(streams), streams, rows, held_run: await findHeldRun(db) }
    },
    options.dryRun ? 'read' : 'write',
  )
  if (!options.json) describe(cli, options, marked)
  const print = (run: object | null) => {
    if (options.json)
      printJson(cli.stdout, { dry_run: options.dryRun === true, filter, ...marked, ...(run && { run }) })
  }
  if (options.run && marked.total > 0) return await sendNow(cli, options, print)
  print(null)
  return exitCodes.well
}

async function sendNow(cli: Cli, options: RetryOptions, print: (run: object) => void): Promise<ExitCode> {
  const ferry = await openToFollow(cli, readConfig(cli, options))
  try {
    return (await runToEnd(cli, ferry, options.json === true ? print : 'text')).code
  } finally {
    await ferry.close()
  }
}

type Marked = {
  held_run: number | null
  total: number
  streams: RetryCounts[]
  rows: Awaited<ReturnType<typeof retryableRows>>
}

function describe(cli: Cli, options: RetryOptions, { total: rows, streams, rows: some, held_run }: Marked): void {
  if (rows === 0) {
    printLine(
      cli.stdout,
      'No rejected row is like that, or all of them are marked already. nightferry rejected shows them.',
    )
    return
  }
  const perStream = streams.map(({ stream, rows: count }) => `${stream}: ${count}`).join(', ')
  const when = options.dryRun
    ? `would be sent again (${perStream}). Nothing was changed`
    : `marked (${perStream}). The next run sends ${rows === 1 ? 'it' : 'them'} again, once`
  printLine(cli.stdout, `${counted(rows, 'row')} ${when}.`)
  if (held_run !== null) {
    printLine(
      cli.stdout,
      `Run ${held_run} is held by the guard, and so may be the next: nightferry approve ${held_run} --dry-run shows why.`,
    )
  }
  for (const { partner_id, stream, row_key, code, reason } of some) {
    const said = [code, reason].filter((part) => part !== null).join(': ')
    printLine(cli.stdout, readable(`  ${partner_id}  ${stream}  ${row_key}  ${said}`))
  }
  if (rows > some.length) printLine(cli.stdout, `  … and ${rows - some.length} more`)
}

function total(streams: readonly RetryCounts[]): number {
  return streams.reduce((sum, { rows }) => sum + rows, 0)
}
