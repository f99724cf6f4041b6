import { night } from '../../config/known-names.ts'
import { requirementsOf, requireSettings } from '../../config/require-settings.ts'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { findHeldRun } from '../../db/guard/guard-plan.ts'
import type { ResendFilter } from '../../db/ledger/rows-again.ts'
import { countRetryable, type RetryCounts, retryableRows } from '../../db/ledger/rows-to-retry.ts'
import { isPaused } from '../../db/runs/job-requests.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import { resendAccepted, retryRejected } from '../../pipeline/actions/act-on-rows.ts'
import { ActionRefused } from '../../pipeline/deps.ts'
import { carriedStreams, needsGroup } from '../../pipeline/streams/our-streams.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import type { FilterOptions } from '../option-values.ts'
import { filterOf, readConfig, readContract, requireStream } from '../read-config.ts'
import { readable } from '../show/readable.ts'
import { thenClose } from '../whole-process.ts'
import { actingUser, requireHotel, withDatabase } from '../with-database.ts'

export type RetryOptions = CommonOptions & FilterOptions & { all?: boolean; dryRun?: boolean; run?: boolean }

/** Rows that are shown as examples of what a retry marks. */
const examples = 20

/**
 * `nightferry retry`: rows that the service rejected are sent again as they are, once, by the next run, or now with
 * `--run`. A row that is rejected again stays rejected until it changes or a person asks again. What keeps a run from
 * beginning is looked for before anything is marked.
 * @throws once rows are marked, with a code whose exit code is not that of a command line which did nothing.
 */
export async function retry(cli: Cli, options: RetryOptions): Promise<ExitCode> {
  const filter = filterOf(cli, options)
  if (Object.keys(filter).length === 0 && !options.all) {
    throw new UsageError('Say which rows: --reason, --stream, --partner-id, --since, or --all')
  }
  if (options.dryRun && options.run) throw new UsageError('--dry-run and --run: choose one')
  if (options.run) requireToRun(cli, options)
  const marked = await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      if (options.run) await refuseUnlessFree(db)
      const carried = carriedStreams(readContract(cli, config), config)
      const rows = await retryableRows(db, carried, filter, examples)
      const streams = options.dryRun
        ? await countRetryable(db, carried, filter)
        : await retryRejected({ db, now: cli.now }, carried, filter, actingUser(cli))
      if (total(streams) === 0) await requireHotel(db, options.partnerId)
      return { total: total(streams), streams, rows, held_run: await findHeldRun(db, requirementsOf(config)) }
    },
    options.dryRun ? 'read' : 'write',
  )
  if (!options.json) describe(cli, options, marked)
  const print = (ended: object = {}) => {
    if (options.json) printJson(cli.stdout, { dry_run: options.dryRun === true, filter, ...marked, ...ended })
  }
  if (options.run && marked.total > 0) return await sendNow(cli, options, print)
  print(options.run ? { run: null } : {})
  return exitCodes.well
}

/** @throws {ConfigError} when settings are missing that a run needs. */
function requireToRun(cli: Cli, options: RetryOptions): void {
  const config = readConfig(cli, options)
  requireSettings(config, needsGroup(readContract(cli, config), config.streams))
}

/** @throws {UsageError} when no run can begin now. */
async function refuseUnlessFree(db: Database): Promise<void> {
  if ((await runInTheWay(db, night)) !== undefined) {
    throw new UsageError(
      'A run is under way, and sends nothing again; without --run the rows wait for the one after it',
    )
  }
  if (await isPaused(db, night)) {
    throw new UsageError(
      `${night} is paused; nightferry jobs resume ${night} lets it start again, and without --run the rows wait for that`,
    )
  }
}

/** What is marked stays so and is printed, whatever becomes of the run. */
async function sendNow(cli: Cli, options: RetryOptions, print: (ended: object) => void): Promise<ExitCode> {
  // Loads what a run needs, which marking rows does not.
  const { openToFollow, runToEnd } = await import('./run.ts')
  let printed = false
  const show = (run: object) => {
    printed = true
    print({ run })
  }
  const printedToo = (error: unknown): never => {
    const { code = 'internal_error', message } = error as Error & { code?: string }
    if (!printed) print({ run: null, error: { code, message } })
    throw error
  }
  const open = async () => await openToFollow(cli, readConfig(cli, options))
  const ferry = await open().catch(printedToo)
  const work = async () => (await runToEnd(cli, ferry, options.json === true ? show : 'text').catch(printedToo)).code
  return await thenClose(cli, work, () => ferry.close())
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
      'No rejected row is like that, or all of them are marked already or of streams that no run sends. nightferry rejected shows them.',
    )
    return
  }
  const held = `Run ${held_run} is held by the guard, and so may be the next: nightferry approve ${held_run} --dry-run shows why.`
  const shown = some.map(({ partner_id, stream, row_key, code, reason }) => {
    const said = [code, reason].filter((part) => part !== null).join(': ')
    return readable(`  ${partner_id}  ${stream}  ${row_key}  ${said}`)
  })
  printMarked(cli, options, { total: rows, streams, remarks: held_run === null ? [] : [held], shown })
}

function total(streams: readonly RetryCounts[]): number {
  return streams.reduce((sum, { rows }) => sum + rows, 0)
}

type MarkedLines = {
  total: number
  streams: readonly RetryCounts[]
  /** What is to be said before the rows that are shown. */
  remarks: readonly string[]
  /** The lines of rows that are shown as examples. */
  shown: readonly string[]
}

/** How many rows of which streams were marked to be sent again, or would be, with some of them. */
function printMarked(
  cli: Cli,
  { dryRun }: { dryRun?: boolean },
  { total: rows, streams, remarks, shown }: MarkedLines,
): void {
  const perStream = streams.map(({ stream, rows: count }) => `${stream}: ${count}`).join(', ')
  const suspended = streams.reduce((sum, one) => sum + one.suspended, 0)
  const meant = suspended === 0 ? (rows === 1 ? 'it' : 'them') : `${rows - suspended || 'none'} of them`
  const when = dryRun
    ? `would be sent again (${perStream}). Nothing was changed`
    : `marked (${perStream}). The next run sends ${meant} again, once`
  printLine(cli.stdout, `${counted(rows, 'row')} ${when}.`)
  if (suspended > 0) printLine(cli.stdout, suspendedWords(suspended))
  for (const line of [...remarks, ...shown]) printLine(cli.stdout, line)
  if (rows > shown.length) printLine(cli.stdout, `  … and ${rows - shown.length} more`)
}

/** That so many of the rows do not go out with the next run. */
function suspendedWords(rows: number): string {
  const [are, wait] = rows === 1 ? ['is', 'waits'] : ['are', 'wait']
  return `${counted(rows, 'row')} of them ${are} of suspended hotels, and ${wait} until these are resumed: nightferry hotels lists them.`
}

export type ResendOptions = CommonOptions & {
  partnerId?: string
  stream?: string
  submission?: number
  since?: Date
  difference?: 'absent' | 'different' | 'any'
  alsoLater?: boolean
  all?: boolean
  dryRun?: boolean
  beyondGuard?: boolean
}

/**
 * `nightferry resend`: rows that the service accepted are sent again as they are, once, by the next run: after its
 * database was restored, or where it shows something else than was sent. More than the guard would let through needs
 * `--beyond-guard`, as a change of that size at the partner needs approval.
 */
export async function resend(cli: Cli, options: ResendOptions): Promise<ExitCode> {
  const filter = acceptedFilterOf(options)
  if (Object.keys(filter).length === 0 && !options.all) {
    throw new UsageError('Say which rows: --partner-id, --stream, --submission, --since, --difference, or --all')
  }
  if (options.alsoLater && options.difference === undefined) {
    throw new UsageError('--also-later goes with --difference: say which')
  }
  if (options.stream !== undefined) requireStream(cli, options, options.stream)
  return await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      const { streams, rows, total, ...told } = await resendAccepted(db, {
        filter,
        carried: carriedStreams(readContract(cli, config), config),
        guard: config.guard,
        beyondGuard: options.beyondGuard === true,
        actor: options.dryRun ? null : actingUser(cli),
        at: cli.now(),
        asked: askedOf(options),
      }).catch((error: unknown) => {
        // The verb has an option for it.
        if (!(error instanceof ActionRefused)) throw error
        throw new UsageError(`${error.message}: --dry-run, --beyond-guard`)
      })
      if (total === 0) await requireHotel(db, options.partnerId)
      if (options.json) {
        printJson(cli.stdout, { dry_run: options.dryRun === true, filter, total, streams, rows, ...told })
        return exitCodes.well
      }
      const remarks = leftOutWords(told)
      if (total === 0) {
        printLine(
          cli.stdout,
          remarks.length > 0
            ? 'No row can be marked.'
            : 'No accepted row is like that, or all of them are marked already. nightferry trace shows a hotel.',
        )
        for (const line of remarks) printLine(cli.stdout, line)
        return exitCodes.well
      }
      const shown = rows.map(({ partner_id, stream, row_key }) => readable(`  ${partner_id}  ${stream}  ${row_key}`))
      const { changed, beyond_guard } = told
      const first = [...(options.beyondGuard ? [] : guardWords(beyond_guard)), ...changedWords(changed)]
      printMarked(cli, options, { total, streams, remarks: [...first, ...remarks], shown })
      return exitCodes.well
    },
    'write',
  )
}

/** That without a dry run the same command would mark nothing. */
function guardWords(streams: readonly string[]): string[] {
  if (streams.length === 0) return []
  return [`That is more than the guard lets through (${streams.join(', ')}): without --beyond-guard nothing is marked.`]
}

/** What a resend means for rows that are not at the service as they are now. */
function changedWords(rows: number): string[] {
  if (rows === 0) return []
  return [
    rows === 1
      ? '1 of them has changed since it was accepted, or the guard holds it: it goes out as it is now once nothing keeps it back, or as it was accepted if the change is taken back.'
      : `${rows} of them have changed since they were accepted, or the guard holds them: they go out as they are now once nothing keeps them back, or as they were accepted if the change is taken back.`,
  ]
}

type LeftOut = Pick<Awaited<ReturnType<typeof resendAccepted>>, 'later' | 'unjudged' | 'mixed' | 'unconfigured'>

/** What is as it was asked for and is not marked, and why: a line for each reason. */
function leftOutWords({ later, unjudged, mixed, unconfigured }: LeftOut): string[] {
  const waiting = `${counted(unjudged, 'row')} found so before, which the newest comparison did not judge: left until one does.`
  const both = `${counted(mixed, 'calculator')} with other inputs that are different: --difference different sends all of each.`
  const unsent = `${counted(unconfigured, 'more row')} of streams that are not in the configuration: no run sends them, so nothing of them is marked.`
  return [
    ...(later === 0 ? [] : [laterWords(later)]),
    ...(unjudged === 0 ? [] : [waiting]),
    ...(mixed === 0 ? [] : [both]),
    ...(unconfigured === 0 ? [] : [unsent]),
  ]
}

/** What the service changed after it was sent stays as it is there, unless a person says otherwise. */
function laterWords(rows: number): string {
  return rows === 1
    ? '1 more row has that difference, but the service changed it after it was sent: it stays as it is there, unless you add --also-later.'
    : `${rows} more rows have that difference, but the service changed them after they were sent: they stay as they are there, unless you add --also-later.`
}

function acceptedFilterOf({
  partnerId,
  stream,
  submission,
  since,
  difference,
  alsoLater,
}: ResendOptions): ResendFilter {
  return {
    ...(partnerId !== undefined && { partnerId }),
    ...(stream !== undefined && { stream }),
    ...(submission !== undefined && { submissionId: submission }),
    ...(since !== undefined && { since }),
    ...(difference !== undefined && { difference }),
    ...(alsoLater && { alsoLater }),
  }
}

function askedOf(options: ResendOptions): Record<string, string> {
  const { partnerId, stream, submission, since, difference, alsoLater, all, beyondGuard } = options
  const asked = {
    partnerId,
    stream,
    submission: submission?.toString(),
    since: since?.toISOString(),
    difference,
    alsoLater: alsoLater ? 'true' : undefined,
    all: all ? 'true' : undefined,
    beyondGuard: beyondGuard ? 'true' : undefined,
  }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as Record<string, string>
}
