import { type Action, type ActionFilter, listActions } from '../../db/actions/list-actions.ts'
import { type ActionVerb, actionVerbs } from '../../db/tables/run-tables.ts'
import { given } from '../../given.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { requireStream } from '../read-config.ts'
import { csvByName, moment } from '../show/readable.ts'
import { cutList, requireOneForm, table } from '../show/table.ts'
import { requireHotel, withDatabase } from '../with-database.ts'

export type ActionsOptions = CommonOptions & {
  verb?: string
  submission?: number
  run?: number
  partnerId?: string
  stream?: string
  job?: string
  since?: Date
  limit: number
  csv?: boolean
}

/** `nightferry actions`: what people did, newest first: who, when, on what, why, and what came of it. */
export async function actions(cli: Cli, options: ActionsOptions): Promise<ExitCode> {
  requireOneForm(options)
  const filter = filterOf(cli, options)
  return await withDatabase(cli, options, async ({ db }) => {
    const { rows, cut } = cutList(cli, options, await listActions(db, filter, options.limit + 1))
    if (rows.length === 0) await requireHotel(db, options.partnerId)
    if (options.json) printJson(cli.stdout, rows)
    else if (options.csv) cli.stdout.write(csvByName(csvColumns, rows.map(withAsked)))
    else if (rows.length === 0) printLine(cli.stdout, nothingFound(filter))
    else {
      printLine(cli.stdout, asTable(rows))
      if (cut !== null) printLine(cli.stdout, `\n${cut}`)
    }
    return exitCodes.well
  })
}

/** @throws {UsageError} when there is no such verb or stream: a misspelt one would look as if nobody had done it. */
function filterOf(cli: Cli, options: ActionsOptions): ActionFilter {
  const { verb, submission, run, partnerId, stream, job, since } = options
  if (stream !== undefined) requireStream(cli, options, stream)
  const known = verb === undefined ? undefined : verbNamed(verb)
  return given({ verb: known, submissionId: submission, runId: run, partnerId, stream, job, since })
}

function verbNamed(text: string): ActionVerb {
  const verb = actionVerbs.find((one) => one === text)
  if (verb !== undefined) return verb
  throw new UsageError(`Nothing is written down of a verb ${text}; of these it is: ${actionVerbs.join(', ')}`)
}

function nothingFound(filter: ActionFilter): string {
  if (Object.keys(filter).length === 0) return 'Nobody did anything by hand.'
  return 'Nothing that people did is so; nightferry actions without options lists all of it.'
}

function asTable(rows: readonly Action[]): string {
  return table(
    ['no', 'at (UTC)', 'by', 'from', 'verb', 'submission', 'rows', 'asked', 'result'],
    rows.map((row) => [
      row.action_id,
      moment(row.acted_at),
      row.acted_by,
      row.host,
      row.verb,
      row.submission_id,
      row.rows,
      Object.entries(row.asked)
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `${name} ${value}`)
        .join(', ') || null,
      row.result,
    ]),
  )
}

const csvColumns = [
  'action_id',
  'acted_at',
  'acted_by',
  'host',
  'verb',
  'submission_id',
  'correlation_id',
  'rows',
  'asked',
  'result',
] as const

function withAsked({ asked, ...row }: Action) {
  return { ...row, asked: JSON.stringify(asked) }
}
