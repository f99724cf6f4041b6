/**
 * What the source gives, with the next already asked for while one is used: the database reads on while a page is
 * written. One more than is used is in memory.
 */
export async function* readAhead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
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

/** Nobody may come for it any more; whoever does sees the rejection. */
function askFor<T>(source: AsyncGenerator<T>): Promise<IteratorResult<T>> {
  const asked = source.next()
  asked.catch(() => undefined)
  return asked
}
