import { driftRows } from '../../db/runs/drift-rows.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { requireStream } from '../row-filter.ts'
import { moment } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type DriftOptions = CommonOptions & { stream?: string; limit: number }

/** `nightferry drift`: what is at the service and no longer in the partner's database, by row and since when. */
export async function drift(cli: Cli, options: DriftOptions): Promise<ExitCode> {
  const { stream = null, limit } = options
  if (stream !== null) requireStream(cli, options, stream)
  return await withDatabase(cli, options, async ({ db }) => {
    const rows = await driftRows(db, stream, limit)
    if (options.json) {
      printJson(cli.stdout, rows)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      rows.length === 0
        ? 'Nothing is at the service that is gone here. Only streams with capture: snapshot see what is gone.'
        : table(
            ['hotel', 'stream', 'row', 'last accepted (UTC)', 'gone since (UTC)'],
            rows.map((row) => [
              row.partner_id,
              row.stream,
              row.row_key,
              moment(row.accepted_at),
              moment(row.gone_since),
            ]),
          ),
    )
    return exitCodes.well
  })
}
