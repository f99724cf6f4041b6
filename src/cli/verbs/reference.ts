import { counted } from '../../counted.ts'
import type { ReferenceChange, ReferenceVersion, UntakenReference } from '../../db/tables/service-tables.ts'
import { referenceDifferences } from '../../pipeline/reference/reference-items.ts'
import {
  acceptUntaken,
  type CachedDocument,
  cachedDocuments,
  documentsAt,
  referenceVersions,
  untakenReference,
} from '../../pipeline/reference/store-reference-data.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import type { OpenDatabase } from '../open-database.ts'
import { moment, readable, shortened } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type ReferenceOptions = CommonOptions & { changes?: boolean; from?: number; to?: number; accept?: boolean }

/**
 * `nightferry reference`: what is cached of the service's reference data, of when and in which version; with
 * `--changes` what differs between two versions; with `--accept` a fetch that was not taken is taken by the next run.
 */
export async function reference(cli: Cli, options: ReferenceOptions): Promise<ExitCode> {
  if (options.accept && options.changes) throw new UsageError('--accept and --changes: choose one')
  return await withDatabase(
    cli,
    options,
    async ({ db }) => {
      if (options.accept) await accept(cli, db, options)
      else if (options.changes || options.from !== undefined || options.to !== undefined)
        await changes(cli, db, options)
      else await overview(cli, db, options)
      return exitCodes.well
    },
    options.accept ? 'write' : 'read',
  )
}

type Db = OpenDatabase['db']

async function overview(cli: Cli, db: Db, options: ReferenceOptions): Promise<void> {
  const [documents, versions, untaken] = [
    await cachedDocuments(db),
    await referenceVersions(db),
    await untakenReference(db),
  ]
  if (options.json) printJson(cli.stdout, { versions, documents, withheld: untaken })
  else printLine(cli.stdout, renderReference(documents, versions, untaken))
}

async function changes(cli: Cli, db: Db, options: ReferenceOptions): Promise<void> {
  const versions = await referenceVersions(db)
  const [newest] = versions
  if (newest === undefined)
    throw new UsageError('No reference data were fetched yet; nightferry run refresh-reference fetches them')
  const to = options.to ?? newest.version
  const from = options.from ?? to - 1
  refuseUnkept(versions, from, to)
  const differences = referenceDifferences(await documentsAt(db, from), await documentsAt(db, to))
  if (options.json) printJson(cli.stdout, { from, to, changes: differences })
  else printLine(cli.stdout, renderReferenceChanges(from, to, differences))
}

function refuseUnkept(versions: readonly ReferenceVersion[], from: number, to: number): void {
  const kept = versions.map(({ version }) => version)
  // What stood before the oldest version kept is known, because what that version replaced is kept with it.
  const oldest = Math.min(...kept) - 1
  if (!kept.includes(to) || from < oldest || from >= to) {
    throw new UsageError(
      `Versions ${oldest} to ${Math.max(...kept)} can be compared, an earlier one with a later one; not ${from} with ${to}`,
    )
  }
}

async function accept(cli: Cli, db: Db, options: ReferenceOptions): Promise<void> {
  const accepted = await acceptUntaken(db, actingUser(cli), cli.now())
  if (accepted === null) throw new UsageError('All reference data were taken; there is nothing to accept')
  if (options.json) printJson(cli.stdout, accepted)
  else {
    printLine(cli.stdout, readable(`Accepted: ${accepted.reason}.`))
    printLine(cli.stdout, 'The next run takes them, if the service still says the same, and judges all rows by them.')
  }
}

/** Versions listed; the JSON has all that are kept. */
const versionsShown = 10

/** What is cached, as a person reads it. */
function renderReference(
  documents: readonly CachedDocument[],
  versions: readonly ReferenceVersion[],
  untaken: UntakenReference | null,
): string {
  const [newest] = versions
  if (newest === undefined) return 'No reference data were fetched yet; nightferry run refresh-reference fetches them.'
  const head = `Version ${newest.version} of the reference data, fetched ${moment(newest.fetched_at)} UTC, last confirmed ${moment(newest.confirmed_at)} UTC`
  const inForce = table(
    ['kind', 'name', 'id', 'questions', 'data points', 'version', 'changed (UTC)'],
    documents.map((one) => [
      one.kind.replace('_', ' '),
      shortened(one.name, 40),
      one.id,
      one.questions,
      one.data_points,
      one.version,
      moment(one.changed_at),
    ]),
  )
  const kept = table(
    ['version', 'fetched (UTC)', 'last confirmed (UTC)', 'run', 'changes'],
    versions
      .slice(0, versionsShown)
      .map((one) => [one.version, moment(one.fetched_at), moment(one.confirmed_at), one.run_id, one.changes]),
  )
  const parts = [head, inForce, kept]
  if (untaken !== null) parts.push(renderUntaken(untaken))
  parts.push('nightferry reference --changes [--from <version>] [--to <version>] says what changed.')
  return parts.join('\n\n')
}

function renderUntaken({ reason, times, first_seen_at, accepted_at, accepted_by }: UntakenReference): string {
  const since = `Withheld since ${moment(first_seen_at)} UTC, ${counted(times, 'time')}: ${readable(reason)}.`
  return accepted_at === null
    ? `${since}\nIf this is right: nightferry reference --accept`
    : `${since}\nAccepted by ${readable(accepted_by ?? '')} on ${moment(accepted_at)} UTC: the next run takes it.`
}

/** What differs between two versions. */
function renderReferenceChanges(from: number, to: number, changes: readonly ReferenceChange[]): string {
  if (changes.length === 0) return `Versions ${from} and ${to} of the reference data do not differ.`
  const rows = changes.map((one) => [
    one.change,
    one.item === 'document' ? one.kind.replace('_', ' ') : one.item.replace('_', ' '),
    shortened(one.item_name, 50),
    one.item_id,
    shortened(one.item === 'document' ? '' : one.document_name, 30),
    one.change === 'changed' ? shortened(one.detail ?? '', 80) : '',
  ])
  return `What version ${to} of the reference data has, beside version ${from}\n${table(
    ['change', 'what', 'name', 'id', 'in', 'how'],
    rows,
  )}`
}
