import { carryingJobs, night } from '../../config/known-names.ts'
import { counted, grouped } from '../../counted.ts'
import { keyDeniedWords } from '../../db/ledger/parked-reason.ts'
import type { PageProgress } from '../../db/runs/run-progress.ts'
import type { BatchSize } from '../../db/tables/submission-tables.ts'
import type { RunForecast } from '../../jobs/run-forecast.ts'
import { statusOf } from '../../jobs/whole-status.ts'
import { skewWords, surelyOffMs, tolerableSkewMs } from '../../pipeline/gate/service-clock.ts'
import type { SearchStanding } from '../../pipeline/pull/documents/document-reports.ts'
import {
  comparedWords,
  elsewhereWords,
  missingPropertyLines,
  unrenewedLines,
} from '../../pipeline/report/report-words.ts'
import type { Standing } from '../../pipeline/report/standing.ts'
import { troubleWords } from '../../pipeline/report/trouble-words.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { readContract } from '../read-config.ts'
import { duration, moment, readable, shortened } from '../show/readable.ts'
import { table } from '../show/table.ts'
import { withDatabase } from '../with-database.ts'

/** `nightferry status`: the last run and the ledger at a glance. */
export async function status(cli: Cli, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }, config) => {
    const standing = await statusOf(db, config, readContract(cli, config), cli.now(), 'apart')
    if (options.json) {
      printJson(cli.stdout, standing)
      return exitCodes.well
    }
    const { last_run: last, key_refused: key, service_clock: clock, custom_properties: missing, pages } = standing
    if (last === null) printLine(cli.stdout, readable(noRunWords(standing, carryingJobs(config))))
    else for (const line of lastLines(last, standing.carrying_runs)) printLine(cli.stdout, readable(line))
    for (const line of heldLines(standing)) printLine(cli.stdout, readable(line))
    for (const trouble of standing.troubles) {
      const words = troubleWords(trouble, config.exchange.giveUpAfterMs, (at) => `${moment(at)} UTC`)
      printLine(cli.stdout, readable(words))
    }
    if (pages !== null) printLine(cli.stdout, renderPages(pages))
    for (const line of jobLines(standing)) printLine(cli.stdout, readable(line))
    if (key !== null) {
      const words = keyDeniedWords(key.since, [key.code, key.reason])
      printLine(cli.stdout, readable(`Nothing is sent: ${words}. What is pending is parked until then.`))
    }
    const skew = clock === null ? null : { lowMs: clock.low_ms, highMs: clock.high_ms }
    if (clock !== null && skew !== null && surelyOffMs(skew) > 0) {
      const far = surelyOffMs(skew) > tolerableSkewMs ? '. Somebody should set it right' : ''
      printLine(cli.stdout, `Clocks: ${skewWords(skew)}, measured ${moment(clock.measured_at)} UTC${far}.`)
    }
    for (const line of missingPropertyLines(missing.left_out, missing.left_out_in_run, missing.doubtful)) {
      printLine(cli.stdout, readable(line))
    }
    for (const line of [
      ...unrenewedLines(standing.not_renewed),
      ...standing.webhooks,
      ...notComparedLines(standing.not_compared),
    ]) {
      printLine(cli.stdout, readable(line))
    }
    for (const part of [
      streamsTable(standing.streams),
      searchesTable(standing.searches),
      sizesTable(standing.request_sizes),
    ]) {
      if (part === '') continue
      printLine(cli.stdout)
      printLine(cli.stdout, part)
    }
    return exitCodes.well
  })
}

function noRunWords({ elsewhere }: Pick<Standing, 'elsewhere'>, [job = night]: readonly string[]): string {
  const none = elsewhere === null ? 'There was no run yet' : elsewhereWords('', elsewhere)
  return `${none}. nightferry run ${job} starts one.`
}

type LastRun = NonNullable<Standing['last_run']>

/** The last run, and the others by which the night is judged, each with why it is not simply well. */
function lastLines(last: LastRun, carrying: readonly LastRun[]): string[] {
  const runs = [last, ...carrying.filter(({ run_id }) => run_id !== last.run_id)]
  return runs.flatMap(({ run_id, job, asked, started_at, state, step, verdict, failure, remarks }) => {
    const part = [...(asked.only ?? []), ...(asked.streams ?? [])]
    const all = part.length === 0 ? '' : ` (only ${part.join(', ')})`
    const of = job === night && runs.length === 1 && all === '' ? '' : ` of ${job}${all}`
    const stands = state === 'running' ? `under way at the step ${step}` : `${state}, ${verdict}`
    const line = `Last run${of}: ${run_id}, started ${moment(started_at)} UTC, ${stands}`
    const why = failure === null ? remarks : [`${failure.code}: ${failure.message}`]
    return [line, ...why.map((words) => `  ${words}`)]
  })
}

/** The runs that wait for a person, each with the streams over which the guard stopped it. */
function heldLines({ held }: Pick<Standing, 'held'>): string[] {
  return [...Map.groupBy(held, ({ run_id }) => run_id)].map(([run, plans]) => {
    const streams = plans.map(({ stream }) => stream).join(', ')
    return `Run ${run} is held by the guard over ${streams}: nightferry approve ${run} --dry-run`
  })
}

/** When runs end, what is paused, and since when something waits to be accepted. */
function jobLines({ forecasts, paused, oldest_unaccepted_since: oldest }: Awaited<ReturnType<typeof statusOf>>) {
  return [
    ...forecasts.map(forecastLine).filter((line) => line !== null),
    ...paused.map(({ job, paused_by, paused_at, reason }) => {
      const why = reason === null ? '' : `: ${reason}`
      return `Paused: ${job}, by ${paused_by} since ${moment(paused_at)} UTC${why}. nightferry jobs resume ${job}`
    }),
    ...(oldest === null ? [] : [`The oldest change not accepted is of ${moment(oldest)} UTC.`]),
  ]
}

/** What nothing would notice the loss of. */
function notComparedLines(kinds: Awaited<ReturnType<typeof statusOf>>['not_compared']): string[] {
  if (kinds.length === 0) return []
  const named = kinds.map(({ kind }) => comparedWords(kind)).join(', ')
  return [`Sent, and not compared with what the service shows: ${named}. nightferry doctor says why.`]
}

function streamsTable(streams: Standing['streams']): string {
  if (streams.length === 0) return ''
  return table(
    [
      'stream',
      'rows',
      'accepted',
      'pending',
      'of these invalid',
      'parked',
      'rejected',
      'unknown',
      'in flight',
      'held',
      'unconfigured',
      'gone',
      'oldest pending (UTC)',
    ],
    streams.map((s) => [
      s.stream,
      s.rows,
      s.accepted,
      s.pending,
      s.invalid,
      s.parked,
      s.rejected,
      s.unknown,
      s.in_flight,
      s.held,
      s.unconfigured,
      s.gone,
      moment(s.oldest_pending),
    ]),
  )
}

function searchesTable(searches: readonly SearchStanding[]): string {
  if (searches.length === 0) return ''
  return table(
    ['search', 'documents', 'removed', 'last time', 'loaded (UTC)', 'changed (UTC)'],
    searches.map((s) => [
      s.search,
      s.documents,
      s.removed,
      s.error_code ?? (s.state === 'settled' ? s.task_status : s.state),
      moment(s.loaded_at),
      moment(s.changed_at),
    ]),
  )
}

function sizesTable(sizes: Standing['request_sizes']): string {
  if (sizes.length === 0) return ''
  return table(
    ['requests of kind', 'rows each', 'because', 'at (UTC)'],
    sizes.map((size) => [size.kind, size.rows, sizeWords(size), moment(size.updated_at)]),
  )
}

/** How the pages of a run's searches get on, and which of them are worth a look. */
export function renderPages(progress: PageProgress): string {
  const { pages, document_pages, loaded, failed, companies, unchanged, careful, bytes, remarkable } = progress
  const open = pages - loaded - failed
  const line = [
    `Pages of the ${document_pages > 0 ? 'searches' : 'search'}: ${grouped(loaded)} of ${grouped(pages)} loaded`,
    ...(failed > 0 ? [`${grouped(failed)} failed`] : []),
    ...(open > 0 ? [`${grouped(open)} to come`] : []),
    `${counted(companies, 'company')}, ${grouped(unchanged)} of them unchanged`,
    `${grouped(Math.round(bytes / 1000))} kB`,
    ...(careful > 0 ? [`${grouped(careful)} loaded with care`] : []),
  ].join(' · ')
  if (remarkable.length === 0) return line
  return `${line}\n${table(
    ['search', 'page', 'state', 'failures', 'why'],
    remarkable.map((page) => [
      page.search ?? 'calculators',
      page.page,
      page.state,
      page.failures,
      shortened(whyOf(page), 140),
    ]),
  )}`
}

function whyOf({ state, error_code, error_message, care }: PageProgress['remarkable'][number]): string {
  if (state === 'loaded') return `with care: ${care ?? ''}`
  return [error_code, error_message].filter(Boolean).join(': ')
}

/** Why requests of a kind have the size that they have, in words. */
function sizeWords({ rows, rows_before, verdict, submission_id, request_rows, duration_ms }: BatchSize): string {
  const moved = rows > rows_before ? 'raised' : rows < rows_before ? 'lowered' : 'kept'
  const took = duration_ms === null ? '' : ` in ${duration(duration_ms)}`
  const said = {
    succeeded: `succeeded${took}`,
    failed: 'failed as a whole',
    too_large: 'was too large for the service',
    answer_lost: 'lost its answer',
  }[verdict]
  const from = moved === 'kept' ? '' : ` from ${rows_before}`
  return `${moved}${from}: submission ${submission_id} with ${counted(request_rows, 'row')} ${said}`
}

/** When a run will end, in a sentence; null: nobody can tell, and nobody waits for it. Pure. */
export function forecastLine({ run_id, job, ends_at, deadline, late }: RunForecast): string | null {
  const which = `Run ${run_id} of ${job}`
  if (ends_at === null) {
    if (deadline === null) return null
    return late
      ? `${which} had to end by ${moment(deadline)} UTC, and has not; when it will, nobody can tell.`
      : `${which} has to end by ${moment(deadline)} UTC; when it will, nobody can tell yet.`
  }
  const by = deadline === null ? '' : `, and has to by ${moment(deadline)} UTC${late ? ': too late' : ''}`
  return `At this speed, ${which[0]?.toLowerCase()}${which.slice(1)} ends at ${moment(ends_at)} UTC${by}.`
}
