import type pg from 'pg'
import { withoutPassword } from '../../config/show-config.ts'
import { grantReading, type Reading, reservedViews, revokeReading } from '../../db/readers/grant-reading.ts'
import { openQuerySession } from '../../db/readers/open-query-session.ts'
import type { Cluster } from '../../embedded/open-cluster.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  QueryFailed,
  UsageError,
  untilInterrupted,
} from '../cli.ts'
import { csv, readable } from '../show/readable.ts'
import { requireOneForm, table, textWidth } from '../show/table.ts'
import { untilSignal } from '../whole-process.ts'
import { actingUser, withDatabase } from '../with-database.ts'

export type SqlOptions = CommonOptions & { csv?: boolean }

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

/**
 * `nightferry sql [query]`: runs one query under a role that can only read, and prints its rows; without a query it
 * says how to connect with a client of one's own, and keeps an embedded server up until it is interrupted.
 */
export async function sql(cli: Cli, query: string | undefined, options: SqlOptions): Promise<ExitCode> {
  requireOneForm(options)
  return await withDatabase(cli, options, async ({ url, cluster }) => {
    if (query === undefined) {
      printLine(cli.stdout, cluster === null ? psql(withoutPassword(url)) : psqlOfEmbedded(url, cluster))
      printLine(
        cli.stderr,
        'This is the role that owns the tables, and it may change everything. The views are in the schema nightferry. Ctrl-C ends this, and an embedded server with it.',
      )
      await untilInterrupted(cli)
      return exitCodes.well
    }
    const { fields, rows } = await answerTo(cli, url, query)
    if (options.json)
      printJson(
        cli.stdout,
        rows.map((row) => Object.fromEntries(fields.map((name, at) => [name, row[at]]))),
      )
    else if (options.csv) cli.stdout.write(csv(fields, rows))
    else printLine(cli.stdout, table(fields, rows))
    return exitCodes.well
  })
}

function psql(url: string): string {
  return `psql '${url.replaceAll("'", '%27')}'`
}

/** Nobody but us knows the embedded server's password, and every user of the machine sees the arguments of psql. */
function psqlOfEmbedded(url: string, { passwordFile }: Cluster): string {
  const { href } = Object.assign(new URL(url), { password: '' })
  return `PGPASSWORD="$(cat '${passwordFile.replaceAll("'", `'\\''`)}')" ${psql(href)}`
}

async function answerTo(
  cli: Cli,
  url: string,
  query: string,
): Promise<{ fields: string[]; rows: (string | null)[][] }> {
  const { client, notice } = await openQuerySession(url)
  try {
    if (notice !== null) printLine(cli.stderr, readable(notice))
    // The extended protocol takes one statement: none can end the transaction and begin another that may write.
    const asked: pg.QueryArrayConfig & { queryMode: 'extended' } = {
      text: query,
      rowMode: 'array',
      queryMode: 'extended',
    }
    const result = await untilSignal(cli, client.query<(string | null)[]>(asked))
    return { fields: result.fields.map(({ name }) => name), rows: result.rows }
  } catch (error) {
    throw queryFailed(query, error)
  } finally {
    await client.end()
  }
}

type ServerError = { code?: unknown; message?: string; position?: string; detail?: string; hint?: string }

/** How much of a long line is shown on either side of the caret. */
const aroundCaret = 60

/**
 * What the server said of a query, with the line it means and a caret under the place. Other errors stay as they are.
 */
export function queryFailed(query: string, error: unknown): unknown {
  const { code, message, position, detail, hint } = error as ServerError
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return error
  const lines = [
    message ?? '',
    ...(position === undefined ? [] : caretLines(query, Number(position))),
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ]
  return new QueryFailed(code, lines.join('\n'), { cause: error })
}

/**
 * The line of a place in a query, and a line with a caret under it. Pure.
 * @param position counted in characters from 1, as PostgreSQL does.
 */
export function caretLines(query: string, position: number): string[] {
  const before = Array.from(query)
    .slice(0, Math.max(0, position - 1))
    .join('')
  const number = before.split('\n').length
  const start = before.lastIndexOf('\n') + 1
  const line = query.slice(start).split('\n')[0] ?? ''
  const left = Array.from(before.slice(start))
  const right = Array.from(line.slice(before.length - start))
  const cutLeft = left.length > aroundCaret
  const cutRight = right.length > aroundCaret
  const head = `Line ${number}: ${cutLeft ? '…' : ''}${readable((cutLeft ? left.slice(-aroundCaret) : left).join(''))}`
  const tail = `${readable((cutRight ? right.slice(0, aroundCaret) : right).join(''))}${cutRight ? '…' : ''}`
  return [`${head}${tail}`, `${' '.repeat(textWidth(head))}^`]
}
