import { refusedRows } from '../db/runs/report-rows.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from './cli.ts'
import { moment } from './readable.ts'
import { table } from './table.ts'
import { withDatabase } from './with-database.ts'

export type RejectedOptions = CommonOptions & { limit: number }

/** `nightferry rejected`: rows that the service refused, that nobody knows the fate of, or that are invalid here. */
export async function rejected(cli: Cli, options: RejectedOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    const rows = await refusedRows(db, options.limit)
    if (options.json) {
      printJson(cli.stdout, rows)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      rows.length === 0
        ? 'Nothing is refused, invalid or unknown.'
        : table(
            ['hotel', 'stream', 'state', 'code', 'reason', 'row', 'correlation id', 'at (UTC)'],
            rows.map((row) => [
              row.partner_id,
              row.stream,
              row.state,
              row.code,
              row.reason,
              row.row_key,
              row.correlation_id,
              moment(row.at),
            ]),
          ),
    )
    return exitCodes.well
  })
}
