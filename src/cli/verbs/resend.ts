import type { ResendFilter } from '../../db/ledger/rows-again.ts'
import { resendAccepted } from '../../pipeline/actions/act-on-rows.ts'
import { ActionRefused } from '../../pipeline/deps.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { requireStream } from '../read-config.ts'
import { counted, readable } from '../show/readable.ts'
import { actingUser, requireHotel, withDatabase } from '../with-database.ts'

export type ResendOptions = CommonOptions & {
  partnerId?: string
  stream?: string
  submission?: number
  since?: Date
  difference?: 'absent' | 'different' | 'any'
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
  const filter = filterOf(options)
  if (Object.keys(filter).length === 0 && !options.all) {
    throw new UsageError('Say which rows: --partner-id, --stream, --submission, --since, --difference, or --all')
  }
  if (options.stream !== undefined) requireStream(cli, options, options.stream)
  return await withDatabase(
    cli,
    options,
    async ({ db }, { guard }) => {
      const { streams, rows, total } = await resendAccepted(db, {
        filter,
        guard,
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
        printJson(cli.stdout, { dry_run: options.dryRun === true, filter, total, streams, rows })
        return exitCodes.well
      }
      if (total === 0) {
        printLine(
          cli.stdout,
          'No accepted row is like that, or all of them are marked already. nightferry trace shows a hotel.',
        )
        return exitCodes.well
      }
      const perStream = streams.map(({ stream, rows: many }) => `${stream}: ${many}`).join(', ')
      const when = options.dryRun
        ? `would be sent again (${perStream}). Nothing was changed`
        : `marked (${perStream}). The next run sends ${total === 1 ? 'it' : 'them'} again, once`
      printLine(cli.stdout, `${counted(total, 'row')} ${when}.`)
      for (const row of rows) {
        printLine(cli.stdout, readable(`  ${row.partner_id}  ${row.stream}  ${row.row_key}`))
      }
      if (total > rows.length) printLine(cli.stdout, `  … and ${total - rows.length} more`)
      return exitCodes.well
    },
    'write',
  )
}

function filterOf({ partnerId, stream, submission, since, difference }: ResendOptions): ResendFilter {
  return {
    ...(partnerId !== undefined && { partnerId }),
    ...(stream !== undefined && { stream }),
    ...(submission !== undefined && { submissionId: submission }),
    ...(since !== undefined && { since }),
    ...(difference !== undefined && { difference }),
  }
}

function askedOf(options: ResendOptions): Record<string, string> {
  const { partnerId, stream, submission, since, difference, all, beyondGuard } = options
  const asked = {
    partnerId,
    stream,
    submission: submission?.toString(),
    since: since?.toISOString(),
    difference,
    all: all ? 'true' : undefined,
    beyondGuard: beyondGuard ? 'true' : undefined,
  }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as Record<string, string>
}
