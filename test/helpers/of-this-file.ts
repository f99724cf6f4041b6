import { afterAll } from 'vitest'

/** What all tests of a file share: opened before the first of them, closed after the last. */
export async function ofThisFile<T extends { close(): Promise<unknown> } | AsyncDisposable>(
  opening: Promise<T>,
): Promise<T> {
  const open = await opening
  afterAll(async () => void (await ('close' in open ? open.close() : open[Symbol.asyncDispose]())))
  return open
}
