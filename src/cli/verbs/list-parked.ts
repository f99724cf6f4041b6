import { requirementsOf } from '../../config/require-settings.ts'
import { parkedGroups } from '../../db/ledger/parked-groups.ts'
import { type Cli, type ExitCode, exitCodes, printLine } from '../cli.ts'
import { filterOf } from '../row-filter.ts'
import { counted, moment } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'
import { type ListOptions, words } from './list-rows.ts'

/** `nightferry parked`: how many rows of each hotel wait for the same, the most first; `--rows` lists each of them. */
export async function listParked(cli: Cli, options: ListOptions): Promise<ExitCode> {
  const filter = filterOf(cli, options)
  return await withDatabase(cli, options, async ({ db }, config) => {
    const { groups, total } = await parkedGroups(db, requirementsOf(config), filter, options.limit)
    if (groups.length === 0) {
      printLine(cli.stdout, words.parked.none)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      table(
        ['hotel', 'rows', 'streams', 'code', 'reason', 'first changed (UTC)'],
        groups.map((group) => [
          group.partner_id,
          group.rows,
          group.streams.join(', '),
          group.code,
          group.reason,
          moment(group.since),
        ]),
      ),
    )
    const more =
      total.groups > groups.length ? ` The ${groups.length} largest groups are shown; --limit shows more.` : ''
    printLine(
      cli.stdout,
      `\n${counted(total.rows, 'row')} of ${counted(total.hotels, 'hotel')} ${total.rows === 1 ? 'is' : 'are'} parked.${more} --rows lists each row.`,
    )
    printLine(cli.stdout, words.parked.next)
    return exitCodes.well
  })
}
