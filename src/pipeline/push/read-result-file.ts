import type { Readable } from 'node:stream'
import chain from 'stream-chain'
import { parser } from 'stream-json'
import { pick } from 'stream-json/filters/pick.js'
import { streamArray } from 'stream-json/streamers/stream-array.js'

/** The result file of an import is no JSON document, or ends before it is whole. */
export class ResultFileError extends Error {
  readonly code = 'result_file_malformed'
}

/**
 * The elements of a result file's top-level list, one at a time: a file names up to every company of its request.
 * Invalid UTF-8 is an error, never a replacement character.
 * @throws {ResultFileError} when the document is malformed or cut short.
 */
export async function* readResultFile(body: Readable, list: string): AsyncGenerator<unknown> {
  const elements = chain([
    body,
    strictUtf8(),
    parser({ streamValues: false }),
    pick({ filter: list, once: true }),
    streamArray(),
  ])
  try {
    for await (const element of elements as AsyncIterable<{ value: unknown }>) yield element.value
  } catch (error) {
    if (body.errored) throw body.errored
    throw new ResultFileError(`the result file is malformed: ${(error as Error).message}`, { cause: error })
  }
}

function strictUtf8(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (chunk) => decoder.decode(chunk, { stream: true })
}
