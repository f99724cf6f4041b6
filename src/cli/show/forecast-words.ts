import type { RunForecast } from '../../jobs/run-forecast.ts'
import { moment } from './readable.ts'

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
