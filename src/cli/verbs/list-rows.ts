import { requirementsOf } from '../../config/require-settings.ts'
import { type ListedRow, type ListedState, rowsInState } from '../../db/ledger/rows-in-state.ts'
import { resendPolicies } from '../../pipeline/preflight/judging-basis.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import type { FilterOptions } from '../option-values.ts'
import { readContract } from '../read-config.ts'
import { filterOf } from '../row-filter.ts'
import { csv } from '../show/csv.ts'
import { moment, shortened } from '../show/readable.ts'
import { policyWords, rowWords } from '../show/row-words.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type ListOptions = CommonOptions & FilterOptions & { limit: number; csv?: boolean }

/** What is said where there is no such row, and under those that there are. */
export const words: Record<ListedState, { none: string; next: string }> = {
  rejected: {
    none: 'The service has rejected nothing that is still wanted.',
    next: 'Fix the value at its source: content that has changed is sent again. nightferry retry sends rows again as they are.',
  },
  invalid: {
    none: 'Nothing is invalid.',
    next: 'Fix the value at its source: the next run checks changed rows again, and all rows if the reference data changed.',
  },
  parked: {
    none: 'Nothing is parked.',
    next: 'They are released by themselves once what they require is accepted.',
  },
  unknown: {
    none: 'There is no row whose fate is unknown.',
    next: 'The next run sends these rows again; nobody has to do anything.',
  },
}

/**
 * `nightferry rejected`, `invalid`, `parked` and `unknown`: the rows in that state, with the reason in words that a
 * person can act on, and what happens next.
 */
export async function listRows(cli: Cli, state: ListedState, options: ListOptions): Promise<ExitCode> {
  if (options.csv && options.json) throw new UsageError('--csv and --json: choose one')
  const filter = filterOf(cli, options)
  return await withDatabase(cli, options, async ({ db }, config) => {
    const policies = resendPolicies(config, readContract(cli, config))
    const rows = await rowsInState(db, state, requirementsOf(config), policies, filter, options.limit)
    if (options.json) {
      printJson(
        cli.stdout,
        rows.map((row) => ({ state, ...row })),
      )
    } else if (options.csv) {
      cli.stdout.write(csv(csvColumns, rows.map(csvRow)))
    } else if (rows.length === 0) {
      printLine(cli.stdout, words[state].none)
    } else {
      printLine(cli.stdout, asTable(state, rows))
      if (rows.length === options.limit) printLine(cli.stdout, `\nThe newest ${rows.length}; --limit shows more.`)
      printLine(cli.stdout, `\n${words[state].next}`)
    }
    return exitCodes.well
  })
}

function asTable(state: ListedState, rows: readonly ListedRow[]): string {
  const common = (row: ListedRow) => [row.partner_id, row.stream, shortened(rowWords(row.stream, row.content), 80)]
  if (state === 'invalid') {
    return table(
      ['hotel', 'stream', 'row', 'reason', 'changed (UTC)'],
      rows.map((row) => [...common(row), row.reason, moment(row.at)]),
    )
  }
  if (state === 'parked') {
    return table(
      ['hotel', 'stream', 'row', 'code', 'reason', 'changed (UTC)'],
      rows.map((row) => [...common(row), row.code, row.reason, moment(row.at)]),
    )
  }
  const columns = ['hotel', 'stream', 'row', 'code', 'reason', 'submission', 'correlation id', 'at (UTC)', 'next']
  return table(
    columns,
    rows.map((row) => [
      ...common(row),
      row.code,
      row.reason,
      row.submission_id,
      row.correlation_id,
      moment(row.at),
      next(state, row),
    ]),
  )
}

function next(state: ListedState, row: ListedRow): string {
  if (row.held_run !== null && row.retry_asked) return `retried when run ${row.held_run} is approved`
  if (state === 'unknown' || row.sent_again) return 'sent by the next run'
  return row.retry_asked ? 'retried by the next run' : (policyWords(row) ?? 'when it changes, or is retried')
}

const csvColumns = [
  'partner_id',
  'stream',
  'row_key',
  'row',
  'code',
  'reason',
  'submission_id',
  'correlation_id',
  'at',
  'retry_asked',
  'policy_after',
]

function csvRow(row: ListedRow): (string | number | null)[] {
  return [
    row.partner_id,
    row.stream,
    row.row_key,
    rowWords(row.stream, row.content),
    row.code,
    row.reason,
    row.submission_id,
    row.correlation_id,
    row.at.toISOString(),
    String(row.retry_asked),
    row.policy_after?.toISOString() ?? null,
  ]
}
