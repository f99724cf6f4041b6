import type { SubmissionReport } from '../../db/runs/report-rows.ts'

/** What the service refused whatever a request carried, one sentence for each kind and code. Pure. */
export function refusalRemarks(submissions: readonly SubmissionReport[]): string[] {
  const whole = submissions.filter(({ refusal_verdict }) => refusal_verdict === 'not_the_rows')
  const causes = Map.groupBy(whole, ({ kind, error_code }) => JSON.stringify([kind, error_code]))
  return [...causes.values()].flatMap((refused) => {
    const [first] = refused
    if (first === undefined) return []
    const words = [first.error_code, first.refusal_reason].filter((part) => part !== null).join(': ')
    return [
      `The service refuses ${first.kind} whatever they carry (${words}), as in submission ${first.submission_id}: every part of a request was refused alike, so it is not the rows. They are sent again by the next run.`,
    ]
  })
}
