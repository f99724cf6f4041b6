import type { mappingsMovedIn } from '../../db/ledger/store-mappings.ts'
import type { StreamReport, SubmissionReport } from '../../db/runs/report-rows.ts'
import { unreadableCode } from '../push/outcomes/end-unreadable.ts'
import { readingNotices } from './reading-notices.ts'

/** What is worth knowing of a run and is no reason to look, one sentence each. Pure. */
export function noticesOf(streams: readonly StreamReport[], submissions: readonly SubmissionReport[] = []): string[] {
  const gone = streams.reduce((sum, stream) => sum + stream.gone, 0)
  const returned = streams.reduce((sum, stream) => sum + stream.returned, 0)
  const notices = []
  if (gone > 0) {
    notices.push(
      `${gone} of the rows known are gone at the partner. The service has no delete, so what it took of them stays there: nightferry drift lists it.`,
    )
  }
  if (returned > 0) notices.push(`${returned} of the rows that had been gone are there again.`)
  return [...notices, ...readingNotices(streams), ...splitNotices(submissions)]
}

/** Which requests were split because nobody said which of their rows failed, and what was found. */
function splitNotices(submissions: readonly SubmissionReport[]): string[] {
  const families = Map.groupBy(
    submissions.filter(({ root_id }) => root_id !== null),
    ({ root_id }) => root_id,
  )
  return [...families].map(([root, parts]) => {
    const found = parts.reduce((sum, { failed_alone }) => sum + failed_alone, 0)
    const rows = `${found === 0 ? 'no row was' : found === 1 ? '1 row was' : `${found} rows were`} found that it fails over`
    const whole = submissions.find(({ submission_id }) => submission_id === root)
    const why = whyOf(whole)
    return `Submission ${root} was split into ${parts.length} requests, ${why}; ${rows}.`
  })
}

function whyOf(whole: SubmissionReport | undefined): string {
  if (whole?.refusal_verdict != null) return `for the service refused it (${whole.error_code ?? 'without a code'})`
  return whole?.error_code === unreadableCode
    ? "for the service's answer about its task was too long to be read"
    : 'for its task ended in Error without naming a row'
}

/** Hotels that became another company, as a notice of the report. Pure. */
export function mappingNotices({ moved, total }: Awaited<ReturnType<typeof mappingsMovedIn>>): string[] {
  const notices = moved.map(
    ({ partner_id, company_before, company_id, rows }) =>
      `${partner_id} is company ${company_id} now, and was ${company_before}: ${rows} accepted rows became pending and were to be sent again. The old company still holds them: nightferry drift lists it.`,
  )
  if (total > moved.length) notices.push(`${total - moved.length} more hotels became another company: mapping_changes.`)
  return notices
}

/**
 * What a report says after a backup of our own database came back; nothing while it is the one of the run before. Pure.
 */
export function ownDatabaseRemarks(runOfOther: number | null): string[] {
  if (runOfOther === null) return []
  return [
    `Nightferry's database is another copy than the one of run ${runOfOther}: a backup was restored, or it was moved. If it was a backup, the service holds what was sent since, and the ledger does not know of it: nightferry resend --all --beyond-guard sends everything again with the next run. If it was moved as it was, nothing is wrong.`,
  ]
}
