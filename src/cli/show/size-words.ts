import type { BatchSize } from '../../db/tables/planning.ts'
import { counted, duration } from './readable.ts'

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
