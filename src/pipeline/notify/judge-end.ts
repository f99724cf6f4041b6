import type { NotificationEvent } from '../../db/tables/notification-tables.ts'
import type { RunFailure, Verdict } from '../../db/tables/run-tables.ts'
import type { RunReport } from '../report/report.ts'

/** A run that has ended. */
export type EndedRun = {
  run_id: number
  job: string
  /** What people call the service and profile that it sent to. */
  destination: string
  verdict: Verdict
  failure: RunFailure | null
  finished_at: Date | null
  report: Pick<RunReport, 'remarks' | 'streams' | 'held' | 'duration_ms'> | null
}

/** What people are told, and why: the same cause is not told again while it lasts. */
export type Judged = { event: Exclude<NotificationEvent, 'heartbeat' | 'late' | 'slow'>; cause: string }

/**
 * Whether people are to be told how a run ended. Pure.
 * @param standing the cause that they were told of last, if it still stood when the run began.
 * @param partialRows so many rows of a partial run must need a person.
 * @returns null if there is nothing new.
 */
export function judgeEnd(run: EndedRun, standing: string | null, partialRows: number): Judged | null {
  const trouble = troubleOf(run, partialRows)
  if (trouble === null) return standing === null ? null : { event: 'recovered', cause: standing }
  return trouble.cause === standing ? null : trouble
}

function troubleOf({ verdict, failure, report }: EndedRun, partialRows: number): Judged | null {
  if (verdict === 'succeeded') return null
  if (verdict === 'failed') return { event: 'failed', cause: `failed: ${failure?.code ?? 'counts'}` }
  const rows = rowsInNeed(report)
  const few = rows > 0 && rows < partialRows
  // What is said of so few rows is left out; a run may be partial over something else, such as a page that failed.
  const remarks = (report?.remarks ?? []).filter((remark) => !few || !/^[\d,.]+ rows? /.test(remark))
  if (few && remarks.length === 0) return null
  return { event: 'partial', cause: `partial: ${[...new Set(remarks.map(kindOfRemark))].sort().join(' ')}` }
}

/** Rows that a person may have to see to. */
function rowsInNeed(report: EndedRun['report']): number {
  return (report?.streams ?? []).reduce(
    (sum, { rejected, invalid, unknown, withheld, parked, held, behind }) =>
      sum + rejected + invalid + unknown + withheld + parked + held + behind,
    0,
  )
}

/** The beginning of a remark without what differs from night to night: details, numbers, ids and the plural. */
function kindOfRemark(remark: string): string {
  const [beginning = ''] = remark.split(':')
  return beginning
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '#')
    .replaceAll(/\d[\d,.]*/g, '#')
    .replaceAll(/\b(\w{3,})s\b/g, '$1')
    .replaceAll(/\b(are|were)\b/g, 'is')
}
