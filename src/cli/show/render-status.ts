import type { PageProgress } from '../../db/runs/page-progress.ts'
import type { BatchSize } from '../../db/tables/planning-tables.ts'
import type { RunForecast } from '../../jobs/run-forecast.ts'
import { counted, duration, grouped, moment, shortened } from './readable.ts'
import { table } from './table.ts'

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
export function sizeWords({ rows, rows_before, verdict, submission_id, request_rows, duration_ms }: BatchSize): string {
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
    return deadline === null
      ? null
      : `${which} has to end by ${moment(deadline)} UTC; when it will, nobody can tell yet.`
  }
  const by = deadline === null ? '' : `, and has to by ${moment(deadline)} UTC${late ? ': too late' : ''}`
  return `At this speed, ${which[0]?.toLowerCase()}${which.slice(1)} ends at ${moment(ends_at)} UTC${by}.`
}
