import { night } from '../../config/known-names.ts'
import { fullEveryMs, type StreamConfig } from '../../config/push-settings.ts'
import { counted } from '../../counted.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import { type Forgotten, rereadStream } from '../../pipeline/actions/act-on-rows.ts'
import type { EarlierCursor } from '../../pipeline/delta/where-to-read.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { requireStream } from '../read-config.ts'
import { readable } from '../show/readable.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type RereadOptions = CommonOptions & { since?: string; dryRun?: boolean }

/**
 * `nightferry reread <stream>`: the next run reads all rows of a stream again, or those from a cursor on, and compares
 * them with the ledger. Nothing is sent that the service has already.
 */
export async function reread(cli: Cli, stream: string, options: RereadOptions): Promise<ExitCode> {
  requireStream(cli, options, stream)
  return await withDatabase(
    cli,
    options,
    async ({ db }, config) => {
      const configured = config.streams[stream]
      if (configured === undefined) throw new UsageError(`streams.${stream} is not configured, so no run reads it`)
      if (options.since !== undefined && configured.capture === 'snapshot') {
        throw new UsageError(
          `${stream} is read as a snapshot, whole each time; without --since its rows are compared with the ledger again`,
        )
      }
      const running = await runInTheWay(db, night)
      if (running !== undefined && ['reference', 'extract'].includes(running.step) && options.dryRun !== true) {
        throw new UsageError(`Run ${running.run_id} is reading the streams; ask again when it has gone on or ended`)
      }
      const forgotten = await rereadStream(db, {
        stream,
        since: options.since ?? null,
        now: cli.now(),
        actor: options.dryRun ? null : actingUser(cli),
      })
      if ('kind' in forgotten) throw new UsageError(refusal(stream, options.since ?? '', forgotten))
      if (options.json) printJson(cli.stdout, { dry_run: options.dryRun === true, ...forgotten })
      else {
        for (const line of describe(forgotten, configured, options.dryRun === true)) {
          printLine(cli.stdout, readable(line))
        }
      }
      return exitCodes.well
    },
    'write',
  )
}

function refusal(stream: string, since: string, why: Exclude<EarlierCursor, { kind: 'earlier' }>): string {
  switch (why.kind) {
    case 'no watermark':
      return `${stream} has no watermark to go back from: the next run reads all of it as it is`
    case 'no value':
      return `--since ${since} is no cursor: give a time ago (3d), a date or time (2026-11-20T06:00Z), or a number`
    case 'other type':
      return `--since ${since} is no value of the cursor of ${stream}, whose watermark is ${why.watermark}`
    case 'not earlier':
      return `--since ${since} is not before the watermark of ${stream}, ${why.watermark}: rows between the two would be missed`
    case 'no order':
      return `The cursor of ${stream} is a text, whose order only the partner's database knows; leave --since out`
    default:
      return why satisfies never
  }
}

function describe(
  { stream, known, capture, ...forgotten }: Forgotten,
  configured: StreamConfig,
  dryRun: boolean,
): string[] {
  if (capture === null) return [`${stream} was never read: the next run reads all of it as it is.`]
  const { watermark_before: before, watermark_after: after } = forgotten
  const would = dryRun ? 'would read' : 'reads'
  const what =
    after === null
      ? `The next run ${would} all of ${stream} again and ${dryRun ? 'compare' : 'compares'} it with the ${counted(known, 'row')} known, by content: ${goneWords(configured)}, and what the service has is not sent again.`
      : `The next run ${would} ${stream} from ${after} on again, and less partner.overlapMs if that is a time; what the service has is not sent again.`
  const forgot = before === null ? [] : [`Its watermark ${dryRun ? 'is' : 'was'} ${before}.`]
  return [what, ...forgot, ...(dryRun ? ['Nothing was changed.'] : [])]
}

/** What a whole reading says of rows that it does not bring, of which only a query that yields all can say anything. */
function goneWords({ capture, fullEvery }: StreamConfig): string {
  if (capture === 'snapshot' || fullEveryMs(fullEvery) !== null) return 'what is gone is found too'
  return 'what is gone is not found but for new rows that the guard holds and rows with a code that no lookup knows, because the query yields only what changed lately (fullEvery: never)'
}
