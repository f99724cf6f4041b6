import { grantReading, type Reading, reservedViews, revokeReading } from '../../db/readers/grant-reading.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { readable } from '../show/readable.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type GrantOptions = CommonOptions & { all?: boolean; revoke?: boolean }

/**
 * `nightferry grant <role>`: lets an existing role of the server read the views, and nothing else; `--revoke` takes
 * that back. Run it again after an update that brings views.
 */
export async function grant(cli: Cli, role: string, options: GrantOptions): Promise<ExitCode> {
  if (options.all && options.revoke) throw new UsageError('--all and --revoke: choose one; --revoke takes all')
  const request = { role, all: options.all === true, actor: actingUser(cli), at: cli.now() }
  const reading = await withDatabase(
    cli,
    options,
    ({ db }) => (options.revoke ? revokeReading(db, request) : grantReading(db, request)),
    'write',
  )
  if (options.json) {
    printJson(cli.stdout, { revoked: options.revoke === true, ...reading })
    return exitCodes.well
  }
  for (const line of options.revoke ? revokedWords(reading) : grantedWords(reading)) {
    printLine(cli.stdout, readable(line))
  }
  return exitCodes.well
}

function grantedWords({ role, views, now }: Reading): string[] {
  const reserved = reservedViews.filter((view) => !now.views.includes(view))
  return [
    `${role} may read: ${now.views.join(', ')}.`,
    ...(reserved.length > 0 ? [`Not ${new Intl.ListFormat('en-GB').format(reserved)}; --all grants them too.`] : []),
    ...warnings(role, now),
    `Its search path may be set: alter role … set search_path to nightferry. ${views.length} views were granted; those of a later version need another call.`,
  ]
}

function revokedWords({ role, now }: Reading): string[] {
  return [
    now.views.length === 0
      ? `${role} may read none of the views any more.`
      : `What was granted to ${role} is taken back; as a member of another role, or as everybody, it still reads: ${now.views.join(', ')}.`,
    ...(now.tables.length > 0 ? warnings(role, now) : []),
  ]
}

function warnings(role: string, { connects, tables }: Reading['now']): string[] {
  return [
    ...(connects ? [] : [`It may not connect to this database yet: grant connect on database … to ${role}.`]),
    ...(tables.length > 0
      ? [`Beware: through another role it reads tables too, among them ${tables.slice(0, 3).join(', ')}.`]
      : []),
  ]
}
