import type { Submission } from '../db/tables/submission.ts'

/** Codes that concern no submission more than another, and those whose own words name the submission and the verbs. */
const saidAlready = new Set(['exchange_unauthorized', 'task_list_too_short', 'kind_unknown'])

/**
 * The submission that a run stopped over, and the verb that helps with it, as a sentence or two; null: none would.
 * Pure.
 */
export function stoppedOver(
  code: string,
  submission: Pick<Submission, 'submission_id' | 'kind' | 'state' | 'correlation_id'>,
): string | null {
  if (saidAlready.has(code)) return null
  const { submission_id: id, kind, state, correlation_id } = submission
  const over = `It stopped over submission ${id} (${kind}${correlation_id === null ? '' : `, task ${correlation_id}`})`
  switch (state) {
    case 'planned':
      return `${over}, which was not sent: nightferry run nightly-sync sends it, nightferry abandon ${id} gives it up`
    case 'sending':
    case 'uncertain':
      return `${over}, whose answer was lost: nightferry run nightly-sync looks again; nightferry adopt ${id} <correlation id> says which task it is, nightferry abandon ${id} that there is none`
    case 'accepted':
    case 'terminal':
      return `${over}: nightferry run nightly-sync goes on with it, nightferry abandon ${id} gives it up`
    case 'settled':
    case 'refused':
    case 'lost':
    case 'abandoned':
      return `${over}: nightferry run nightly-sync goes on`
    default:
      return state satisfies never
  }
}
