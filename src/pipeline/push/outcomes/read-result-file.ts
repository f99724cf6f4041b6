import type { Readable } from 'node:stream'
import { PageFormatError } from '../../reading/page-format-error.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import { readLists } from '../../reading/read-page.ts'

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
