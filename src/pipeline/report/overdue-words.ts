import type { SubmissionReport } from '../../db/runs/report-rows.ts'

/** The tasks that the run did not wait for any longer, one sentence each, with the verb that helps. Pure. */
export function overdueRemarks(submissions: readonly SubmissionReport[]): string[] {
  return submissions
    .filter(({ overdue_since, settled_at }) => overdue_since !== null && settled_at === null)
    .map((submission) => {
      const { submission_id: id, correlation_id, rows, kind } = submission
      const what = correlation_id === null ? 'a task that may be its' : `its task ${correlation_id}`
      return (
        `Submission ${id} (${kind}) was not waited for any longer: ${what} has not ended${statusWords(submission)}. ` +
        `Its ${rows === 1 ? 'row stays' : `${rows} rows stay`} with it and nothing overtakes ${rows === 1 ? 'it' : 'them'}; every run looks at it again. ` +
        `If it will never end: nightferry abandon ${id}.`
      )
    })
}

function statusWords({ task_status, unknown_status }: SubmissionReport): string {
  if (task_status === null) return ''
  const strange = unknown_status === null ? '' : ', a status that config/contract.yaml does not name'
  return ` (${task_status}${strange})`
}

/** Searches that never ended: nothing was loaded, and the next run makes others. Pure. */
export function overdueSearchRemarks(
  searches: readonly Pick<SubmissionReport, 'submission_id' | 'kind' | 'error_code' | 'error_message'>[],
  code: string,
): string[] {
  return searches
    .filter(({ error_code }) => error_code === code)
    .map(
      ({ error_message }) =>
        `The calculator search brought nothing: ${error_message ?? code}. What is known stays as it was; the next run searches again.`,
    )
}
