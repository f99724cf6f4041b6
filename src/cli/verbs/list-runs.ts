import { requirementsOf } from '../../config/require-settings.ts'
import { counted } from '../../counted.ts'
import { newestElsewhere, newestOnLedger, newestRuns, type RunElsewhere, runExists } from '../../db/runs/newest-runs.ts'
import { type SubmissionReport, submissionReports } from '../../db/runs/report-rows.ts'
import {
  type ParkedBehind,
  parkedBehind,
  type TakenOver,
  takenOver,
  type Wave,
  type WaveSubmission,
  waveSubmissions,
  wavesOf,
} from '../../db/runs/wave-reports.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import { type RunReport, unmatchedWords } from '../../pipeline/report/report.ts'
import { elsewhereWords } from '../../pipeline/report/report-words.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { duration, moment, shortened } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

export type RunsOptions = CommonOptions & { limit: number }

/** `nightferry runs`: the newest runs and their verdicts. */
export async function runs(cli: Cli, options: RunsOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    const found = await newestRuns(db, options.limit, { reports: options.json ? 'whole' : 'remarks' })
    if (options.json) {
      printJson(cli.stdout, found)
      return exitCodes.well
    }
    const several = found.some(({ destination }) => destination !== null)
    printLine(
      cli.stdout,
      found.length === 0
        ? 'There was no run yet.'
        : table(
            [
              'run',
              'job',
              'trigger',
              ...(several ? ['destination'] : []),
              'started (UTC)',
              'took',
              'state',
              'verdict',
              'why',
            ],
            found.map((run) => [
              run.run_id,
              run.job,
              run.trigger,
              ...(several ? [run.destination ?? 'in use'] : []),
              moment(run.started_at),
              run.finished_at === null ? '–' : duration(run.finished_at.getTime() - run.started_at.getTime()),
              run.state === 'running' ? `at ${run.step}` : run.state,
              run.verdict,
              run.failure
                ? shortened(`${run.failure.code}: ${run.failure.message}`, shownOfFailure)
                : remarksInShort(run),
            ]),
          ),
    )
    return exitCodes.well
  })
}

/** Of a failure the list shows the beginning, for there are many runs; `nightferry report` prints all of it. */
const shownOfFailure = 200

/** The first of what a run's report remarks, and how many more there are: of the last run `status` shows all. */
function remarksInShort({ report }: Pick<Run, 'report'>): string {
  const [first = '', ...more] = (report as RunReport | null)?.remarks ?? []
  return more.length === 0 ? first : `${first} (and ${more.length} more)`
}

/** The last four are of one submission. */
export type SubmissionsOptions = CommonOptions & {
  run?: number
  limit: number
  csv?: boolean
  body?: boolean
  partnerId?: string
}

/**
 * What there is to say of a request beside its counts.
 * @param parts of the same run, into which it was split.
 */
function said(s: SubmissionReport, parts: readonly SubmissionReport[]): string {
  return [
    s.parent_id === null ? '' : `part of ${s.parent_id}`,
    parts.length === 0 ? '' : `split into ${parts.map(({ submission_id }) => submission_id).join(' and ')}`,
    s.error_code === null ? '' : `${s.error_code}: ${s.error_message ?? ''}`,
    s.unmatched === 0 ? '' : `${s.unmatched} unmatched, such as ${s.unmatched_examples.map(unmatchedWords).join('; ')}`,
  ]
    .filter((part) => part !== '')
    .join('; ')
}

/** `nightferry submissions`: the requests of a run, the last one for the destination in use unless another is named. */
export async function submissions(cli: Cli, options: SubmissionsOptions): Promise<ExitCode> {
  const [flag] = [options.body && '--body', options.csv && '--csv', options.partnerId && '--partner-id'].filter(Boolean)
  if (flag) throw new UsageError(`${flag} is for one submission: nightferry submissions <number> ${flag}`)
  return await withDatabase(cli, options, async ({ db }) => {
    const runId = options.run ?? (await newestOnLedger(db))?.run_id
    if (options.run !== undefined && !(await runExists(db, options.run))) {
      throw new UsageError(`There is no run ${options.run}; nightferry runs lists them`)
    }
    const found = runId === undefined ? [] : await submissionReports(db, runId)
    const others = runId === undefined ? [] : takenOverLines(runId, await takenOver(db, runId))
    if (options.json) {
      printJson(cli.stdout, found)
      for (const line of others) printLine(cli.stderr, line)
      return exitCodes.well
    }
    printLine(
      cli.stdout,
      found.length === 0
        ? nothingSent(runId, others, runId === undefined ? await newestElsewhere(db) : null)
        : `${submissionsTable(found)}\n\nnightferry submissions <no> lists the rows of one, with what became of each.`,
    )
    if (found.length > 0) for (const line of others) printLine(cli.stdout, line)
    return exitCodes.well
  })
}

/** Requests as a person reads them, one a line. */
export function submissionsTable(found: readonly SubmissionReport[]): string {
  const partsOf = Map.groupBy(found, ({ parent_id }) => parent_id)
  return table(
    [
      'no',
      'kind',
      'state',
      'status',
      'correlation id',
      'rows',
      'confirmed',
      'inferred',
      'rejected',
      'unknown',
      'sent (UTC)',
      'settled (UTC)',
      'said',
    ],
    found.map((s) => [
      s.submission_id,
      s.kind,
      s.state,
      s.task_status,
      s.correlation_id,
      s.rows,
      s.confirmed,
      s.inferred,
      s.rejected,
      s.unknown,
      moment(s.attempted_at),
      moment(s.settled_at),
      said(s, partsOf.get(s.submission_id) ?? []),
    ]),
  )
}

/** What a run sent and another saw the end of, in words. Pure. */
function takenOverLines(runId: number, by: readonly TakenOver[]): string[] {
  return by.map(
    ({ run_id, submissions: many }) =>
      `${counted(many, 'request')} of run ${runId} went on with run ${run_id}: nightferry submissions --run ${run_id} lists ${many === 1 ? 'it' : 'them'}.`,
  )
}

/** @param elsewhere without a run: the newest one for another destination. */
function nothingSent(runId: number | undefined, takenOver: readonly string[], elsewhere: RunElsewhere | null): string {
  if (runId === undefined) return elsewhere === null ? 'There was no run yet.' : `${elsewhereWords('', elsewhere)}.`
  return takenOver.length === 0 ? `Run ${runId} sent nothing.` : takenOver.join('\n')
}

/** Submissions by name behind one, at most; the JSON has all of them. */
const shownReleases = 4

/**
 * `nightferry waves`: which submission of a run released which, and, of the newest run for the destination in use, what
 * is still parked.
 */
export async function waves(cli: Cli, run: number | undefined, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }, config) => {
    const newest = (await newestOnLedger(db))?.run_id
    if (run !== undefined && !(await runExists(db, run))) {
      throw new UsageError(`There is no run ${run}; nightferry runs lists them`)
    }
    const runId = run ?? newest
    const found = runId === undefined ? [] : wavesOf(await waveSubmissions(db, runId))
    const parked = runId === newest ? await parkedBehind(db, requirementsOf(config)) : null
    const others = runId === undefined ? [] : await takenOver(db, runId)
    if (options.json) {
      printJson(cli.stdout, { run_id: runId ?? null, waves: found, parked, taken_over: others })
      return exitCodes.well
    }
    const lines = takenOverLines(runId ?? 0, others)
    const elsewhere = runId === undefined ? await newestElsewhere(db) : null
    const blocks = [
      ...(found.length === 0 ? [nothingSent(runId, lines, elsewhere)] : [...found.map(waveBlock), ...lines]),
      ...(parked === null || parked.length === 0 ? [] : [parkedBlock(parked)]),
    ]
    printLine(cli.stdout, blocks.join('\n\n'))
    return exitCodes.well
  })
}

function waveBlock({ wave, rows, from, to, submissions }: Wave): string {
  const until = to === null ? 'not over yet' : `to ${moment(to)}`
  return [
    `Wave ${wave}: ${counted(submissions.length, 'submission')}, ${counted(rows, 'row')}, from ${moment(from)} ${until} (UTC)`,
    table(
      ['no', 'kind', 'rows', 'state', 'released by', 'planned', 'sent', 'settled'],
      submissions.map((s) => [
        s.submission_id,
        s.kind,
        s.rows,
        s.state,
        releasedBy(s),
        moment(s.planned_at),
        moment(s.attempted_at),
        moment(s.settled_at),
      ]),
    ),
  ].join('\n')
}

function releasedBy({ rows, parent_id, released_by }: WaveSubmission): string {
  if (parent_id !== null) return `part of ${parent_id}`
  if (released_by.length === 0) return ''
  const shown = released_by.slice(0, shownReleases).map((by) => `${by.submission_id} (${counted(by.rows, 'row')})`)
  const more = released_by.length > shown.length ? [`${released_by.length - shown.length} more`] : []
  const others = rows - released_by.reduce((sum, by) => sum + by.rows, 0)
  const unreleased = others > 0 ? [`none (${counted(others, 'row')})`] : []
  return [...shown, ...more, ...unreleased].join(', ')
}

function parkedBlock(parked: readonly ParkedBehind[]): string {
  return [
    'Parked now, and behind what',
    table(
      ['stream', 'rows', 'of hotels', 'waits for', 'which is'],
      parked.map((p) => [p.stream, p.rows, p.properties, ...waitsFor(p)]),
    ),
  ].join('\n')
}

/** What is waited for, and where it stands. */
function waitsFor({ required, requirement_state: state, submission_id }: ParkedBehind): [string, string] {
  if (state === 'overdue') return [`submission ${submission_id}`, 'overdue']
  if (state === 'key') return ['the API key', 'not accepted by the service (401)']
  if (state === 'next_run') return ['the next run', 'the first since its hotel was resumed']
  if (state === 'suspended')
    return ['a person', required === 'pilot' ? 'its hotel is not in the pilot' : 'its hotel is suspended']
  const stands = state.replace('_', ' ')
  return [required, submission_id === null ? stands : `${stands} (submission ${submission_id})`]
}
