import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { storableJson } from '../../../db/copy-text.ts'
import { withSession } from '../../../db/database.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import type { Deps } from '../../deps.ts'
import { openResult, PageFormatError, type PageLimits } from '../../reading/page-limits.ts'
import { readLists } from '../../reading/read-page.ts'
import { kindOf } from '../kinds.ts'
import type { CompanyOutcome } from './result-outcome.ts'

/**
 * Streams a result file into the staging table, whole or not at all; an earlier attempt's rows are replaced.
 * @throws {DownloadFailed} {DownloadRefused} {ResultFileError} when the file cannot be had whole.
 */
export async function stageResultFile(deps: Deps, submission: Submission, url: string): Promise<void> {
  const { contract } = deps
  const { outcomes: file } = kindOf(contract, submission.kind)
  if (file === 'error_rows') throw new Error(`the outcomes of ${submission.kind} are in no file`)
  const { body } = await openResult(deps, url)
  try {
    await withSession(deps.pool, ({ client, db }) =>
      db.transaction().execute(async (trx) => {
        await trx.deleteFrom('staged_outcome').where('submission_id', '=', submission.submission_id).execute()
        const copy = client.query(
          copyFrom(
            `copy staged_outcome (submission_id, partner_id, accepted, company_id, code, reason, field_errors) from stdin with (format csv)`,
          ),
        )
        await pipeline(
          readResultFile(body, file.list(contract), deps.config.pull),
          async function* (elements: AsyncIterable<unknown>) {
            for await (const element of elements) {
              yield csvLine(submission.submission_id, file.read(contract, element))
            }
          },
          copy,
        )
      }),
    )
  } finally {
    body.destroy()
  }
}

function csvLine(submissionId: number, outcome: CompanyOutcome): string {
  const { partnerId, accepted, companyId, code, reason, fieldErrors } = outcome
  const errors = fieldErrors.length === 0 ? null : storableJson(fieldErrors)
  const cells = [partnerId, accepted, companyId, code, reason, errors]
  return `${submissionId},${cells.map(csvCell).join(',')}\n`
}

/** A null is an empty cell without quotes. NUL, which Postgres cannot store, is shown as its escape. */
function csvCell(value: string | boolean | null): string {
  if (value === null) return ''
  return `"${String(value).replaceAll('"', '""').replaceAll('\0', String.raw`\u0000`)}"`
}

/** The result file of an import is no JSON document, ends before it is whole, or holds an element that is too large. */
class ResultFileError extends Error {
  readonly code = 'result_file_malformed'
}

/**
 * The elements of a result file's top-level list, one at a time: a file names up to every company of its request.
 * Invalid UTF-8 is an error, never a replacement character. Memory does not depend on what the file holds.
 * @throws {ResultFileError} when the document is malformed, cut short or beyond the limits.
 */
export async function* readResultFile(
  body: Readable,
  list: string,
  limits: Pick<PageLimits, 'maxDepth' | 'maxElementSize'>,
): AsyncGenerator<unknown> {
  try {
    const elements = readLists(body, { lists: new Map([[list, 'element']]), required: null, limits })
    for await (const { value } of elements) yield value
  } catch (error) {
    if (!(error instanceof PageFormatError)) throw error
    throw new ResultFileError(`the result file is malformed: ${error.message}`, { cause: error })
  }
}
