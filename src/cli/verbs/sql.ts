import type pg from 'pg'
import { withoutPassword } from '../../config/show-config.ts'
import { openQuerySession } from '../../db/readers/open-query-session.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  untilInterrupted,
} from '../cli.ts'
import { readable } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { queryFailed } from '../sql-error.ts'
import { withDatabase } from '../with-database.ts'

/**
 * `nightferry sql [query]`: runs one query under a role that can only read, and prints its rows; without a query it
 * says how to connect with a client of one's own, and keeps an embedded server up until it is interrupted.
 */
export async function sql(cli: Cli, query: string | undefined, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ url, cluster }) => {
    if (query === undefined) {
      // Nobody but us knows the embedded server's password; that of another server is no secret of ours to show.
      printLine(cli.stdout, `psql '${(cluster === null ? withoutPassword(url) : url).replaceAll("'", '%27')}'`)
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
    else printLine(cli.stdout, table(fields, rows))
    return exitCodes.well
  })
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
    const result = await client.query<(string | null)[]>(asked)
    return { fields: result.fields.map(({ name }) => name), rows: result.rows }
  } catch (error) {
    throw queryFailed(query, error)
  } finally {
    await client.end()
  }
}
