import type { ReferenceVersion } from '../../db/tables/reference-tables.ts'
import { cachedDocuments, referenceVersions } from '../../pipeline/reference/list-reference.ts'
import { referenceDifferences } from '../../pipeline/reference/reference-differences.ts'
import { acceptUntaken, documentsAt, untakenReference } from '../../pipeline/reference/store-reference-data.ts'
import { actingUser } from '../acting-user.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import type { OpenDatabase } from '../open-database.ts'
import { readable } from '../show/readable.ts'
import { renderReference, renderReferenceChanges } from '../show/render-reference.ts'
import { withDatabase } from '../with-database.ts'

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
  if (newest === undefined) throw new UsageError('No reference data were fetched yet; nightferry run fetches them')
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
  const accepted = await acceptUntaken(db, cli.now(), actingUser(cli).user)
  if (accepted === null) throw new UsageError('All reference data were taken; there is nothing to accept')
  if (options.json) printJson(cli.stdout, accepted)
  else {
    printLine(cli.stdout, readable(`Accepted: ${accepted.reason}.`))
    printLine(cli.stdout, 'The next run takes them, if the service still says the same, and judges all rows by them.')
  }
}
