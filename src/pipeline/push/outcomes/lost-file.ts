import type { Submission } from '../../../db/tables/submission.ts'
import { DownloadFailed } from '../../../exchange/download-errors.ts'
import type { Deps } from '../../deps.ts'
import { hasLasted } from '../../when-to-look.ts'

/** Of a submission and of its rows: the task names a result file that cannot be had. */
export const lostFileCode = 'result_file_lost'

/** Attempts at a result file that is not there, or is no JSON, as many as at a page: about a minute in all. */
const attempts = 6

/** Of a download: the address has expired, or the file is gone. Another address may lead to it. */
const goneCode = 'result_file_gone'

const downloadCodes = new Set(['download_failed', 'download_refused', 'result_file_malformed'])

/** What is to be done about a result file that could not be read; null: it is no matter of the file. */
type FileTrouble = { over: boolean; code: string; message: string }

/**
 * Judges a failed attempt at a result file. A file that is not there, or arrives malformed (it may have been cut short
 * on the way), is tried as often as a page; other trouble, as when nobody answers, for `exchange.giveUpAfterMs`. Pure
 * but for the clock.
 */
export function judgeFileTrouble({ config, now }: Deps, submission: Submission, error: unknown): FileTrouble | null {
  const { code: said, message } = error as Error & { code?: string }
  if (said === 'exchange_not_found') return { over: true, code: said, message }
  if (said === undefined || !downloadCodes.has(said)) return null
  const code = error instanceof DownloadFailed && error.expired ? goneCode : said
  const failures = submission.error_code === code ? submission.failures + 1 : 1
  const since = submission.failures > 0 ? submission.failing_since : null
  const tooLong = since !== null && hasLasted(since, now(), config.exchange.giveUpAfterMs)
  const counted = code === goneCode || code === 'result_file_malformed'
  return { over: tooLong || (counted && failures >= attempts), code, message }
}
