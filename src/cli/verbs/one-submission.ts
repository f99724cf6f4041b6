import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { type CarriedRow, carriedRows, countCarried, submissionOf } from '../../db/runs/carried-rows.ts'
import { searchKinds } from '../../pipeline/streams/kind-names.ts'
import { type Cli, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { readContract } from '../read-config.ts'
import { csvByName, readableJson } from '../show/readable.ts'
import { cutList, requireOneForm, table } from '../show/table.ts'
import { requireHotel, withDatabase } from '../with-database.ts'
import { type SubmissionsOptions, submissionsTable } from './list-runs.ts'

/** `nightferry submissions <submission>`: one request, and the rows that it carried; with `--body` what was sent. */
export async function oneSubmission(cli: Cli, id: number, options: SubmissionsOptions): Promise<ExitCode> {
  requireOneForm(options)
  if (options.run !== undefined) throw new UsageError('A submission and --run: choose one')
  if (options.body && options.csv) throw new UsageError('--csv is for rows, and a body is JSON: leave it out')
  return await withDatabase(cli, options, async ({ db }, config) => {
    if (options.body) await printBody(cli, db, config, id, options)
    else await printRows(cli, db, id, options)
    return exitCodes.well
  })
}

async function printRows(cli: Cli, db: Database, id: number, options: SubmissionsOptions): Promise<void> {
  const submission = await submissionOf(db, id)
  if (submission === undefined) {
    throw new UsageError(`There is no submission ${id}, or not any more. nightferry submissions lists those of a run`)
  }
  const { partnerId = null, limit } = options
  const found = await carriedRows(db, id, partnerId, limit + 1)
  if (found.length === 0) await requireHotel(db, options.partnerId)
  const { rows, cut } = cutList(cli, options, found, 'rows', 'first')
  const lost = submission.rows - (await countCarried(db, id))
  const gone =
    lost > 0 ? `It carried ${counted(lost, 'more row')}, of which nothing is kept (housekeeping.keepRunsDays).` : null
  if (options.json) printJson(cli.stdout, { ...submission, carried: rows })
  else if (options.csv) cli.stdout.write(csvByName(csvColumns, rows))
  else {
    printLine(cli.stdout, submissionsTable([submission]))
    printLine(cli.stdout, `\n${rows.length === 0 ? nothingCarried(submission, partnerId) : asTable(rows)}`)
    if (cut !== null) printLine(cli.stdout, `\n${cut}`)
  }
  if (gone !== null) printLine(options.json || options.csv ? cli.stderr : cli.stdout, gone)
}

function nothingCarried({ kind, rows }: { kind: string; rows: number }, partnerId: string | null): string {
  if (searchKinds.includes(kind)) return 'It is a search, which carries no row.'
  if (partnerId !== null) return `Nothing of hotel ${partnerId} is known to have travelled in it.`
  return `None of its ${counted(rows, 'row')} is known any more.`
}

function asTable(rows: readonly CarriedRow[]): string {
  return table(
    ['hotel', 'stream', 'row', 'outcome', 'code', 'reason', 'now'],
    rows.map((row) => [
      row.partner_id,
      row.stream,
      row.row_key,
      row.outcome,
      row.code,
      row.reason,
      row.unchanged === null ? null : row.unchanged ? 'as sent' : 'otherwise',
    ]),
  )
}

const csvColumns = ['partner_id', 'stream', 'row_key', 'outcome', 'code', 'reason', 'sent_hash', 'unchanged'] as const

async function printBody(
  cli: Cli,
  db: Database,
  config: Config,
  id: number,
  { partnerId }: SubmissionsOptions,
): Promise<void> {
  // What sends rows takes its time to load, and lists do without.
  const { findBody, readPayload, whyUnread } = await import('../../pipeline/push/sending/kept-body.ts')
  const keptDays = config.push.keepPayloadsDays
  const body = await findBody(db, id, keptDays)
  if (partnerId !== undefined && searchKinds.includes(body.kind)) {
    throw new UsageError(`Submission ${id} is a search, which names no hotel: leave out --partner-id`)
  }
  if (body.state === 'planned') {
    printLine(cli.stderr, `Submission ${id} is planned: this is what its next attempt sends.`)
  }
  const content = readPayload(db, id)
  try {
    if (partnerId === undefined) {
      await print(cli, content)
      return
    }
    const { elementsOfHotel } = await import('../../pipeline/push/sending/elements-of-hotel.ts')
    const elements = elementsOfHotel(readContract(cli, config), body.kind, partnerId, content)
    if (await printElements(cli, elements)) return
    await requireHotel(db, partnerId)
    throw new UsageError(
      `Nothing in the body of submission ${id} names hotel ${partnerId}; nightferry trace ${partnerId} shows in which it travelled.`,
    )
  } catch (error) {
    throw await whyUnread(db, body, keptDays, error)
  }
}

/** Byte for byte, but for a terminal, which could be driven by what stands in a text: there it is the same JSON. */
async function print(cli: Cli, content: Readable): Promise<void> {
  const { stdout } = cli
  const shown = stdout.isTTY === true ? readableTexts(content) : content
  await pipeline(shown, stdout, { end: false, signal: cli.signal }).catch(unlessUnread)
  if (stdout.isTTY === true) printLine(stdout)
}

async function* readableTexts(content: Readable): AsyncGenerator<string> {
  for await (const text of content.setEncoding('utf8') as AsyncIterable<string>) yield readableJson(text)
}

/** The one that read our output is gone, as `head` is once it has enough. */
function unlessUnread(error: unknown): void {
  if ((error as { code?: unknown }).code !== 'EPIPE') throw error
}

/** The elements of one hotel as a JSON list, each as it was sent. @returns whether there are any. */
async function printElements(cli: Cli, elements: AsyncIterable<string>): Promise<boolean> {
  let found = 0
  for await (const element of elements) {
    cli.stdout.write(`${found === 0 ? '[' : ','}\n${readableJson(element)}`)
    found += 1
  }
  if (found > 0) printLine(cli.stdout, '\n]')
  return found > 0
}
