import { lastComparison, lastRowComparisons } from '../../db/differences/difference-records.ts'
import { type DifferenceFilter, listDifferences, listRowDifferences } from '../../db/differences/list-differences.ts'
import {
  type DifferenceKind,
  type DifferencesView,
  differenceKinds,
  type InputDifference,
  type RowComparison,
} from '../../db/tables/difference-tables.ts'
import { comparedWords, comparisonLine } from '../../pipeline/report/report-words.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { namedFilters } from '../option-values.ts'
import { csvByName, moment, readable, shortened } from '../show/readable.ts'
import { differenceRow } from '../show/row-words.ts'
import { cutList, requireOneForm, table } from '../show/table.ts'
import { requireHotel, withDatabase } from '../with-database.ts'

export type DifferencesOptions = CommonOptions & {
  kind?: string
  partnerId?: string
  since?: Date
  limit: number
  csv?: boolean
}

/**
 * `nightferry differences`: rows of every kind that the service accepted and does not show as they were sent; with
 * `--kind foreign` calculator inputs that are there and were never sent by us.
 */
export async function differences(cli: Cli, options: DifferencesOptions): Promise<ExitCode> {
  requireOneForm(options)
  const filter = filterOf(options)
  return await withDatabase(cli, options, async ({ db }) => {
    const inputs = cutList(cli, options, await listDifferences(db, filter, options.limit + 1, 'whole'), 'inputs')
    const rest = cutList(cli, options, await listRowDifferences(db, filter, options.limit + 1, 'whole'), 'rows')
    const { rows } = inputs
    const { rows: others } = rest
    const filters = rows.length + others.length > 0 ? null : namedFilters(options)
    if (filters !== null) await requireHotel(db, options.partnerId)
    const all = [...rows.map((row) => ({ stream: 'calculator_inputs', ...row })), ...others]
    if (options.json) {
      printJson(cli.stdout, all)
    } else if (options.csv) {
      cli.stdout.write(
        csvByName(
          csvColumns,
          all.map((row) => ({ ...ofInputs, row_key: null, ...row })),
        ),
      )
    } else {
      const last = await lastComparison(db)
      printLine(
        cli.stdout,
        last === null
          ? 'Nothing has been compared yet: only nightly-sync compares. Start it with nightferry run nightly-sync, or schedule it.'
          : `${comparisonLine(last)}\nBy run ${last.run_id}, ${moment(last.compared_at)} UTC.`,
      )
      if (rows.length > 0) printLine(cli.stdout, `\n${asTable(rows)}`)
      if (inputs.cut !== null) printLine(cli.stdout, `\n${inputs.cut}`)
      for (const line of (await lastRowComparisons(db)).map(lastLine)) printLine(cli.stdout, `\n${line}`)
      if (others.length > 0) printLine(cli.stdout, `\n${othersTable(others)}`)
      if (rest.cut !== null) printLine(cli.stdout, `\n${rest.cut}`)
      if (filters !== null) {
        printLine(
          cli.stdout,
          `\nNo such difference passes ${filters}; nightferry differences without that lists all that there are.`,
        )
      }
      for (const kind of differenceKinds) {
        if ([...rows, ...others].some((row) => row.kind === kind))
          printLine(cli.stdout, `\n${adviceOnDifferences[kind]}`)
      }
    }
    return exitCodes.well
  })
}

function filterOf({ kind, partnerId, since }: DifferencesOptions): DifferenceFilter {
  if (kind !== undefined && !differenceKinds.includes(kind as DifferenceKind)) {
    throw new UsageError(`There is no kind ${kind}; there are ${differenceKinds.join(', ')}`)
  }
  return {
    kinds: kind === undefined ? ['absent', 'different'] : [kind as DifferenceKind],
    ...(partnerId !== undefined && { partnerId }),
    ...(since !== undefined && { since }),
  }
}

function asTable(rows: readonly InputDifference[]): string {
  return table(
    ['hotel', 'period', 'input', 'what', 'sent', 'stored', 'accepted (UTC)', 'submission', 'found by run'],
    rows.map((row) => {
      const { period, input, what, sent, stored } = differenceRow(row)
      return [
        row.partner_id,
        period,
        input,
        what,
        sent,
        stored,
        moment(row.accepted_at),
        row.submission_id,
        row.found_by_run,
      ]
    }),
  )
}

function othersTable(rows: readonly DifferencesView[]): string {
  return table(
    ['hotel', 'stream', 'row', 'what', 'sent', 'stored', 'accepted (UTC)', 'submission', 'found by run'],
    rows.map((row) => [
      row.partner_id,
      row.stream,
      shortened(row.row_key, 60),
      row.cause === 'company_not_returned' ? 'absent: the search does not return the company' : row.kind,
      shortened(row.sent ?? '', 40),
      row.stored === null ? null : shortened(row.stored, 40),
      moment(row.accepted_at),
      row.submission_id,
      row.found_by_run,
    ]),
  )
}

/** What the last comparison of a kind came to. */
function lastLine(last: RowComparison): string {
  const what = `${comparedWords(last.kind)}, by run ${last.run_id}`
  if (last.withheld !== null) return readable(`${what}: not compared, ${last.withheld}.`)
  return `${what}: of ${last.rows} rows ${last.equal} as sent, ${last.absent} absent, ${last.different} different, ${last.unjudged} not judged.`
}

/** What only calculator inputs have. */
const ofInputs = { period_year: null, period_month: null, variable_id: null, variable_name: null }

const csvColumns = [
  'stream',
  'kind',
  'cause',
  'partner_id',
  'company_id',
  'period_year',
  'period_month',
  'variable_id',
  'variable_name',
  'sent',
  'stored',
  'accepted_at',
  'submission_id',
  'found_by_run',
  'found_at',
  'row_key',
] as const

/** What to do about each kind. */
const adviceOnDifferences: Record<DifferenceKind, string> = {
  absent:
    'Absent: the service accepted them and does not show them. Ask its operators, with the submission; nightferry trace <hotel> has the correlation id. What changes at its source is sent again.',
  different:
    'Different: somebody else wrote them, such as another integration or a person, or the service altered them. Settle who is right: what changes at its source is sent again, and what is right at the service is fixed at its source.',
  foreign:
    'Foreign: another integration, a person or an earlier system wrote them. If they are wrong, fix them in the web application.',
}
