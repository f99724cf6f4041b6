import pg from 'pg'
import { withoutPassword } from '../config/show-config.ts'
import { schemaName } from '../db/migrate.ts'
import {
  type Cli,
  type CommonOptions,
  type ExitCode,
  exitCodes,
  printJson,
  printLine,
  untilInterrupted,
} from './cli.ts'
import { table } from './table.ts'
import { withDatabase } from './with-database.ts'

/**
 * `nightferry sql [query]`: runs one read-only query and prints its rows; without a query it says how to connect
 * with a client of one's own, and keeps an embedded server up until it is interrupted.
 */
export async function sql(cli: Cli, query: string | undefined, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ url, cluster }) => {
    if (query === undefined) {
      // Nobody but us knows the embedded server's password; that of another server is no secret of ours to show.
      printLine(cli.stdout, `psql '${(cluster === null ? withoutPassword(url) : url).replaceAll("'", '%27')}'`)
      printLine(cli.stderr, 'The views are in the schema nightferry. Ctrl-C ends this, and an embedded server with it.')
      await untilInterrupted(cli)
      return exitCodes.well
    }
    const { fields, rows } = await readOnly(url, query)
    if (options.json)
      printJson(
        cli.stdout,
        rows.map((row) => Object.fromEntries(fields.map((name, at) => [name, row[at]]))),
      )
    else printLine(cli.stdout, table(fields, rows))
    return exitCodes.well
  })
}

/** Every value as the server prints it. */
const asText: pg.CustomTypesConfig = { getTypeParser: () => String as unknown as typeof pg.types.getTypeParser }

async function readOnly(url: string, query: string): Promise<{ fields: string[]; rows: (string | null)[][] }> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'nightferry sql',
    options: `-c search_path=${schemaName} -c timezone=UTC -c default_transaction_read_only=on`,
    types: asText,
  })
  await client.connect()
  try {
    // In a transaction of ours that has asked something already, and by the extended protocol, which takes one
    // statement: none can make it writable, or end it and begin another that is.
    await client.query('begin read only')
    await client.query('select 1')
    const asked: pg.QueryArrayConfig & { queryMode: 'extended' } = {
      text: query,
      rowMode: 'array',
      queryMode: 'extended',
    }
    const result = await client.query<(string | null)[]>(asked)
    return { fields: result.fields.map(({ name }) => name), rows: result.rows }
  } finally {
    await client.end()
  }
}
