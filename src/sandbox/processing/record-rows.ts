import { createFile } from '../files/write-file.ts'
import { type Outcome, reportOrdinal } from '../tasks/sandbox-task.ts'
import { describeReportRow, describeRowError, type Row } from './describe-row.ts'
import { emptyOutcome, type Failure, type Work } from './work.ts'

/** Collects what became of each row of an import that has no result file. */
export type RowRecorder = {
  accept(row: Row): void
  fail(row: Row, failure: Failure): void
  /** Writes what was collected to the report. Call it with every slice of the request, so that little is in memory. */
  flush(): Promise<void>
  /** Completes the report and gives the outcome: counts, and the failed rows for the task's error. */
  end(): Promise<Outcome>
}

/** Rows of the report that are handed to the file at once. */
const rowsAtOnce = 1000

/**
 * Begins the report of a request: its full row-level record, successes included (specification, rules of processing).
 * It is kept with the task's files, apart from its results.
 */
export async function recordRows(work: Work): Promise<RowRecorder> {
  const file = await createFile(work.sandbox.pool, work.taskId, reportOrdinal)
  const outcome = emptyOutcome()
  let rows: string[] = []
  let written = 0
  const flush = async () => {
    const ready = rows
    rows = []
    for (let start = 0; start < ready.length; start += rowsAtOnce) {
      const text = ready.slice(start, start + rowsAtOnce).join(',')
      await file.write(written === 0 ? text : `,${text}`)
      written += 1
    }
  }
  return {
    accept: (row) => {
      outcome.accepted += 1
      rows.push(describeReportRow(row, null))
    },
    fail: (row, failure) => {
      outcome.failed += 1
      outcome.rowErrors.push(describeRowError(work.sandbox.contract, row, failure))
      rows.push(describeReportRow(row, failure))
    },
    flush,
    end: async () => {
      await flush()
      await file.write(']}')
      await file.end(reportHead(work.taskId))
      return outcome
    },
  }
}

/** Everything in front of a report's rows. */
export function reportHead(taskId: string): string {
  return `{"correlationId":${JSON.stringify(taskId)},"rows":[`
}
