import { Turns } from '../../db/database.ts'
import type { PartnerSnapshot } from '../../partner/dialect.ts'

/**
 * Reads and lands streams one after the other; while the rows of one are still stored and compared, the next is read.
 * No further one begins before the one before it has landed: what is read of more would only wait.
 *
 * @param ahead false where all transactions share one connection: then each stream has landed before the next is read.
 * @param land reads a stream through the snapshot that it is given, and lands it. What it asks after its first reading
 *   may have to wait until the next stream has been read.
 * @throws what the first stream that failed threw, once none is under way any more. The one behind it is given up; the
 *   one before it lands.
 */
export async function landReadingAhead<Stream>(
  snapshot: PartnerSnapshot,
  streams: readonly Stream[],
  ahead: boolean,
  land: (stream: Stream, snapshot: PartnerSnapshot) => Promise<void>,
): Promise<void> {
  const turns = new Turns()
  const underWay: Promise<void>[] = []
  let stop = new AbortController()
  for (const stream of streams) {
    const { signal } = stop
    const behind = new AbortController()
    stop = behind
    const read = Promise.withResolvers<void>()
    const landing = land(stream, inTurn(snapshot, turns, signal, read.resolve))
    landing.then(read.resolve, (error: unknown) => {
      behind.abort(error)
      read.resolve()
    })
    underWay.push(landing)
    if (ahead) await read.promise
    await Promise.allSettled(ahead ? underWay.slice(0, -1) : underWay)
    if (signal.aborted || behind.signal.aborted) break
  }
  await Promise.allSettled(underWay)
  for (const landing of underWay) await landing
}

/**
 * The snapshot as one of several streams sees it that share its connection, which answers one question at a time: a
 * reading is one until its last row.
 * @param read called when a reading has come to its end.
 */
function inTurn(snapshot: PartnerSnapshot, turns: Turns, stopped: AbortSignal, read: () => void): PartnerSnapshot {
  async function* whole<Rows>(rows: () => AsyncIterable<Rows>): AsyncGenerator<Rows, void, undefined> {
    const begun = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    void turns.take(async () => {
      begun.resolve()
      await over.promise
    })
    try {
      await unlessStopped(stopped, () => begun.promise)
      yield* untilStopped(rows(), stopped)
      read()
    } finally {
      over.resolve()
    }
  }
  const { server, lacks, openMs, clock } = snapshot
  return {
    server,
    lacks,
    openMs,
    clock,
    check: (query) => turns.take(() => snapshot.check(query)),
    cursorType: (query) => turns.take(() => snapshot.cursorType(query)),
    explain: (query) => turns.take(() => snapshot.explain(query)),
    hasRows: (query) => turns.take(() => snapshot.hasRows(query)),
    delta: (query) => whole(() => snapshot.delta(query)),
    lines: (query) => whole(() => snapshot.lines(query)),
    all: (query) => {
      const all = snapshot.all(query)
      return { ...all, rows: whole(() => all.rows) }
    },
    // Its transaction ends for all of them.
    close: () => snapshot.close(),
  }
}

/** Rows until nobody wants any more: then at once, however long the server would take for the next. */
async function* untilStopped<Rows>(
  rows: AsyncIterable<Rows>,
  stopped: AbortSignal,
): AsyncGenerator<Rows, void, undefined> {
  const iterator = rows[Symbol.asyncIterator]()
  let ended = false
  try {
    for (;;) {
      const { done = false, value } = await unlessStopped(stopped, () => iterator.next())
      ended = done
      if (done) return
      yield value as Rows
    }
  } finally {
    const closed = ended ? undefined : iterator.return?.()
    closed?.catch(() => {})
    // It would wait for the rows that are on their way.
    if (!stopped.aborted) await closed
  }
}

/**
 * What comes, or the signal's reason as soon as it is aborted. Each wait listens for itself: a promise that stood for
 * the signal all along would keep what came of every wait.
 */
async function unlessStopped<T>(stopped: AbortSignal, work: () => Promise<T>): Promise<T> {
  stopped.throwIfAborted()
  return await new Promise<T>((resolve, reject) => {
    const stop = () => {
      reject(stopped.reason as Error)
    }
    stopped.addEventListener('abort', stop, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => {
        stopped.removeEventListener('abort', stop)
      })
  })
}
