import { createFile, type FileWriter } from '../../files/write-file.ts'
import type { Outcome } from '../../tasks/sandbox-task.ts'
import { emptyOutcome, type Work } from '../work.ts'

/** One element of a page's array as JSON text; `mentions`: ids in it that the page's head must explain. */
export type Element = { text: string; mentions?: Iterable<string> }

/** What one kind of search finds, and how its pages show it. */
export type Listing = {
  /** Name of the page's array. */
  array: string
  /** The members in front of the array, the same on every page but for what its own elements mention. */
  head: (mentioned: ReadonlySet<string>) => Record<string, unknown>
  /** Everything found, in the order of the pages, some at a time. */
  elements: AsyncGenerator<readonly Element[]>
}

type Page = { file: FileWriter; elements: number; mentioned: Set<string> }

/**
 * Writes one file per page, piece by piece, so that no page has to fit in memory. A search that finds nothing has one
 * page with an empty array; a full last page is followed by no empty one.
 */
export async function writePages(work: Work, listing: Listing): Promise<Outcome> {
  const { pool, pageSize } = work.sandbox
  const outcome = emptyOutcome()
  let pages = 0
  const begin = async (): Promise<Page> => {
    const file = await createFile(pool, work.taskId, pages)
    pages += 1
    return { file, elements: 0, mentioned: new Set() }
  }
  let page = await begin()
  for await (const found of readAhead(listing.elements)) {
    work.signal.throwIfAborted()
    for (const { text, mentions = [] } of found) {
      if (page.elements === pageSize) {
        await end(page, listing)
        page = await begin()
      }
      await page.file.write(page.elements === 0 ? text : `,${text}`)
      page.elements += 1
      for (const id of mentions) page.mentioned.add(id)
    }
    outcome.accepted += found.length
  }
  await end(page, listing)
  return outcome
}

/** What stands before the array can be written only now that the page's elements are known. */
async function end({ file, mentioned }: Page, { array, head }: Listing): Promise<void> {
  await file.write(']}')
  const members = Object.entries(head(mentioned)).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`,
  )
  await file.end(`{${members.join('')}${JSON.stringify(array)}:[`)
}

/**
 * What the source gives, with the next already asked for while one is used: the database reads on while a page is
 * written. One more than is used is in memory.
 */
async function* readAhead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = askFor(source)
  try {
    for (;;) {
      const given = await next
      if (given.done) return
      next = askFor(source)
      yield given.value
    }
  } finally {
    await next.catch(() => undefined)
    await source.return(undefined)
  }
}

/** Nobody may come for it any more; anyone who does sees the rejection. */
function askFor<T>(source: AsyncGenerator<T>): Promise<IteratorResult<T>> {
  const asked = source.next()
  asked.catch(() => undefined)
  return asked
}
