import { counted, grouped } from '../../counted.ts'
import { runExists } from '../../db/runs/newest-runs.ts'
import { given } from '../../given.ts'
import {
  type ChangeCounts,
  type ChangeFilter,
  countChanges,
  type ListedChange,
  lastSearchedRun,
  listChanges,
} from '../../pipeline/pull/merge/value-history.ts'
import { searchKind } from '../../pipeline/streams/kind-names.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { namedFilters } from '../option-values.ts'
import { csvByName, moment, shortened } from '../show/readable.ts'
import { cutList, requireOneForm, table } from '../show/table.ts'
import { requireHotel, withDatabase } from '../with-database.ts'

export type ChangesOptions = CommonOptions & {
  run?: number
  since?: Date
  partnerId?: string
  limit: number
  csv?: boolean
}

/**
 * `nightferry changes`: which values of calculators the service shows otherwise than before. Of the last run that
 * loaded a search, unless a run, a time or a hotel is named.
 * @throws {UsageError} when there is no such run.
 */
export async function changes(cli: Cli, options: ChangesOptions): Promise<ExitCode> {
  requireOneForm(options)
  const { run, since, partnerId, limit } = options
  return await withDatabase(cli, options, async ({ db }) => {
    if (run !== undefined && !(await runExists(db, run))) throw new UsageError(`There is no run ${run}`)
    const last = await lastSearchedRun(db, searchKind)
    const runId = run ?? (since === undefined && partnerId === undefined ? last?.run_id : undefined)
    const filter: ChangeFilter = given({ runId, since, partnerId })
    const { rows, cut } = cutList(cli, options, await listChanges(db, filter, limit + 1, 'whole'))
    if (rows.length === 0) await requireHotel(db, partnerId)
    if (options.json) printJson(cli.stdout, rows)
    else if (options.csv) cli.stdout.write(csvByName(csvColumns, rows))
    else {
      printLine(cli.stdout, summary(await countChanges(db, filter), runId, namedFilters(options)))
      if (rows.length > 0) printLine(cli.stdout, `\n${asTable(rows)}`)
      if (cut !== null) printLine(cli.stdout, `\n${cut}`)
      if (last !== null && !last.history) {
        printLine(cli.stdout, 'The last search recorded none: pull.history is off.')
      }
    }
    return exitCodes.well
  })
}

function summary(
  { added, changed, removed, companies }: ChangeCounts,
  runId: number | undefined,
  filters: string | null,
): string {
  const where = runId === undefined ? '' : ` in run ${runId}`
  if (added + changed + removed === 0) {
    if (filters === null) return `No change of a value is recorded${where}.`
    return `No change of a value that is recorded${where} passes ${filters}; nightferry changes without that lists those of the last run.`
  }
  return `${counted(added, 'value')} added, ${grouped(changed)} changed, ${grouped(removed)} removed${where}, of ${counted(companies, 'company')}. Those of calculators that are new as a whole are not among them.`
}

function asTable(rows: readonly ListedChange[]): string {
  return table(
    ['hotel', 'period', 'direction', 'variable', 'what', 'before', 'after', 'at (UTC)'],
    rows.map((row) => [
      shortened(row.partner_id ?? row.company_name ?? row.company_id, 40),
      row.period_month === null ? row.period_year : `${row.period_year}-${String(row.period_month).padStart(2, '0')}`,
      row.direction,
      shortened(row.variable_name ?? row.variable_id, 40),
      row.kind,
      row.before === null ? null : shortened(row.before, 40),
      row.after === null ? null : shortened(row.after, 40),
      moment(row.changed_at),
    ]),
  )
}

const csvColumns = [
  'change_id',
  'run_id',
  'changed_at',
  'partner_id',
  'company_id',
  'company_name',
  'calculator_id',
  'period_year',
  'period_month',
  'direction',
  'variable_id',
  'variable_name',
  'kind',
  'before',
  'after',
] as const
