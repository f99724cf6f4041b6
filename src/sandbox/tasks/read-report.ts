import { readFile } from '../files/read-file.ts'
import { reportHead } from '../processing/record-rows.ts'
import { reportRowsOf } from '../processing/reported-rows.ts'
import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { asBulkRequest, isSearch, reportOrdinal } from './sandbox-task.ts'

/**
 * The full row-level record of an import, successes included (specification, rules of processing), as a JSON document
 * in pieces: it is never in memory whole. What a result file says already is read from there.
 * @throws {RequestRefused} 404 for a task that the profile does not have and for a search, whose outcomes are its
 * pages;
 *   409 while the task has not ended.
 */
export async function readReport(
  { pool, contract }: Sandbox,
  task: { id: string; profileId: number },
): Promise<AsyncIterable<string | Uint8Array>> {
  const { id, profileId } = task
  const { rows } = isUuid(id)
    ? await pool.query<{ id: string; request: string; ended: boolean; report: string | null; result: string | null }>(
        `select id, request, finished_at is not null as ended,
           (select token from sandbox.file where task_id = task.id and ordinal = $3 and bytes is not null) as report,
           (select token from sandbox.file where task_id = task.id and ordinal = 0 and bytes is not null) as result
         from sandbox.task where id = $1 and profile_id = $2`,
        [id, profileId, reportOrdinal],
      )
    : { rows: [] }
  const found = rows[0]
  if (!found) throw new RequestRefused(404, 'task_not_found', `There is no task "${id}".`)
  const request = asBulkRequest(found.request)
  if (isSearch(request)) {
    const message = `The task ${found.id} is a search: what it found stands in its result files.`
    throw new RequestRefused(404, 'report_not_found', message)
  }
  if (!found.ended) {
    throw new RequestRefused(409, 'task_not_finished', `The task ${found.id} has not ended; there is no report yet.`)
  }
  if (found.report !== null) return readFile(pool, found.report)
  const rowsOfResult =
    found.result === null ? [] : reportRowsOf(pool, contract, { id: found.id, request, result: found.result })
  return asDocument(found.id, rowsOfResult)
}

async function* asDocument(taskId: string, rows: AsyncIterable<string[]> | string[][]): AsyncGenerator<string> {
  yield reportHead(taskId)
  let first = true
  for await (const some of rows) {
    if (some.length === 0) continue
    yield `${first ? '' : ','}${some.join(',')}`
    first = false
  }
  yield ']}'
}
