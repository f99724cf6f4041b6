import { requirementsOf } from '../../config/require-settings.ts'
import { counted } from '../../counted.ts'
import { type DriftRow, driftRows } from '../../db/ledger/drift-rows.ts'
import { parkedGroups } from '../../db/ledger/parked-groups.ts'
import { type ListedRow, type ListedState, rowsInState } from '../../db/ledger/rows-in-state.ts'
import { resendPolicies } from '../../pipeline/preflight/judgements.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { type FilterOptions, namedFilters } from '../option-values.ts'
import { filterOf, readContract, requireStream } from '../read-config.ts'
import { csvByName, moment, shortened } from '../show/readable.ts'
import { policyWords, rowWords } from '../show/row-words.ts'
import { cutList, requireOneForm, table } from '../show/table.ts'
import { requireHotel, withDatabase } from '../with-database.ts'

export type ListOptions = CommonOptions & FilterOptions & { limit: number; csv?: boolean }

/** What is said where there is no such row, or none that the options let through, and under those that there are. */
const words: Record<ListedState, { none: string; narrowed: string; next: string }> = {
  rejected: {
    none: 'The service has rejected nothing that is still wanted.',
    narrowed: 'No rejected row',
    next: 'Fix the value at its source: content that has changed is sent again. nightferry retry sends rows again as they are.',
  },
  invalid: {
    none: 'Nothing is invalid.',
    narrowed: 'No invalid row',
    next: 'Fix the value at its source: the next run checks changed rows again, and all rows if the reference data changed.',
  },
  parked: {
    none: 'Nothing is parked.',
    narrowed: 'No parked row',
    next: 'They are released by themselves once what they wait for is accepted, or has ended.',
  },
  unknown: {
    none: 'There is no row whose fate is unknown.',
    narrowed: 'No row whose fate is unknown',
    next: 'The next run sends these rows again; nobody has to do anything.',
  },
}

/**
 * `nightferry rejected`, `invalid`, `parked` and `unknown`: the rows in that state, with the reason in words that a
 * person can act on, and what happens next.
 */
export async function listRows(cli: Cli, state: ListedState, options: ListOptions): Promise<ExitCode> {
  requireOneForm(options)
  const filter = filterOf(cli, options)
  return await withDatabase(cli, options, async ({ db }, config) => {
    const policies = resendPolicies(config, readContract(cli, config))
    const found = await rowsInState(db, state, {
      requires: requirementsOf(config),
      policies,
      filter,
      limit: options.limit + 1,
    })
    if (found.length === 0) await requireHotel(db, options.partnerId)
    const { rows, cut } = cutList(cli, options, found)
    if (options.json) {
      printJson(
        cli.stdout,
        rows.map((row) => ({ state, ...row })),
      )
    } else if (options.csv) {
      cli.stdout.write(csvByName(csvColumns, rows.map(withWords)))
    } else if (rows.length === 0) {
      printLine(cli.stdout, nothingFound(state, options))
    } else {
      printLine(cli.stdout, asTable(state, rows))
      if (cut !== null) printLine(cli.stdout, `\n${cut}`)
      printLine(cli.stdout, `\n${words[state].next}`)
    }
    return exitCodes.well
  })
}

/** That there is no row in a state, or none that the options let through. */
function nothingFound(state: ListedState, options: FilterOptions): string {
  const filters = namedFilters(options)
  if (filters === null) return words[state].none
  const all = `${words[state].narrowed} passes ${filters}; nightferry ${state} without that lists all that there are.`
  if (state !== 'parked' || options.reason === undefined) return all
  return `${all} --reason looks in the code and in what is known of the row that is waited for, not in the sentence.`
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
  if (row.suspended && (row.sent_again || row.retry_asked)) return 'sent once its hotel is resumed'
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
] as const

/** `nightferry parked`: how many rows of each hotel wait for the same, the most first; `--rows` lists each of them. */
export async function listParked(cli: Cli, options: ListOptions): Promise<ExitCode> {
  const filter = filterOf(cli, options)
  return await withDatabase(cli, options, async ({ db }, config) => {
    const { groups, total } = await parkedGroups(db, requirementsOf(config), filter, options.limit, 'whole')
    if (groups.length === 0) {
      await requireHotel(db, options.partnerId)
      printLine(cli.stdout, nothingFound('parked', options))
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

export type DriftOptions = CommonOptions & { stream?: string; limit: number; csv?: boolean }

/**
 * `nightferry drift`: what is at the service and no longer in the partner's database, and what a company still holds of
 * a hotel that became another one; by row, with the company and since when.
 */
export async function drift(cli: Cli, options: DriftOptions): Promise<ExitCode> {
  requireOneForm(options)
  const { stream = null, limit } = options
  if (stream !== null) requireStream(cli, options, stream)
  return await withDatabase(cli, options, async ({ db }) => {
    const { rows, cut } = cutList(cli, options, await driftRows(db, stream, limit + 1, 'whole'))
    if (options.json || options.csv) {
      if (options.json) printJson(cli.stdout, rows)
      else cli.stdout.write(csvByName(driftColumns, rows.map(withWords)))
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      rows.length === 0
        ? `${stream === null ? 'Nothing' : `Nothing of ${stream}`} is known to be at the service and gone here${stream === null ? '.' : '; nightferry drift without --stream looks at all streams.'} A stream with capture: snapshot sees it in every run, one with a cursor when all its rows are read: every fullEvery, 7 days unless it says otherwise, and with fullEvery: never in none.`
        : table(
            ['hotel', 'stream', 'row', 'why', 'company', 'last accepted (UTC)', 'gone since (UTC)'],
            rows.map((row) => [
              row.partner_id,
              row.stream,
              row.row_key,
              row.why,
              row.company_id,
              moment(row.accepted_at),
              moment(row.gone_since),
            ]),
          ),
    )
    if (cut !== null) printLine(cli.stdout, `\n${cut}`)
    return exitCodes.well
  })
}

const driftColumns = [
  'partner_id',
  'stream',
  'row_key',
  'row',
  'why',
  'company_id',
  'outcome',
  'accepted_at',
  'gone_since',
] as const

function withWords<Row extends ListedRow | DriftRow>(row: Row): Row & { row: string } {
  return { ...row, row: rowWords(row.stream, row.content) }
}
