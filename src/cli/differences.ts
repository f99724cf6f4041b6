import { type DifferenceFilter, lastComparison, listDifferences } from '../db/differences/list-differences.ts'
import { type DifferenceKind, differenceKinds, type InputDifference } from '../db/tables/input-difference.ts'
import { comparisonLine } from '../pipeline/report/comparison-words.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from './cli.ts'
import { csv } from './csv.ts'
import { differenceRow, differenceWords } from './difference-words.ts'
import { moment } from './readable.ts'
import { table } from './table.ts'
import { UsageError } from './usage-error.ts'
import { withDatabase } from './with-database.ts'

export type DifferencesOptions = CommonOptions & {
  kind?: string
  partnerId?: string
  since?: Date
  limit: number
  csv?: boolean
}

/**
 * `nightferry differences`: inputs that the service accepted and does not show as they were sent; with `--kind foreign`
 * those that are there and were never sent by us.
 */
export async function differences(cli: Cli, options: DifferencesOptions): Promise<ExitCode> {
  if (options.csv && options.json) throw new UsageError('--csv and --json: choose one')
  const filter = filterOf(options)
  return await withDatabase(cli, options, async ({ db }) => {
    const rows = await listDifferences(db, filter, options.limit)
    if (options.json) printJson(cli.stdout, rows)
    else if (options.csv) cli.stdout.write(csv(csvColumns, rows.map(csvRow)))
    else {
      const last = await lastComparison(db)
      printLine(
        cli.stdout,
        last === null
          ? 'Nothing has been compared yet: the first run that loads a search does so.'
          : `${comparisonLine(last)}\nBy run ${last.run_id}, ${moment(last.compared_at)} UTC.`,
      )
      if (rows.length > 0) printLine(cli.stdout, `\n${asTable(rows)}`)
      if (rows.length === options.limit) printLine(cli.stdout, `\nThe newest ${rows.length}; --limit shows more.`)
      for (const kind of differenceKinds) {
        if (rows.some((row) => row.kind === kind)) printLine(cli.stdout, `\n${differenceWords[kind]}`)
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

const csvColumns = [
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
]

function csvRow(row: InputDifference): (string | number | null)[] {
  return [
    row.kind,
    row.cause,
    row.partner_id,
    row.company_id,
    row.period_year,
    row.period_month,
    row.variable_id,
    row.variable_name,
    row.sent,
    row.stored,
    row.accepted_at?.toISOString() ?? null,
    row.submission_id,
    row.found_by_run,
    row.found_at.toISOString(),
  ]
}
