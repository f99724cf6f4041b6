import { Turns } from '../../db/database.ts'
import type { PartnerSnapshot } from '../../partner/dialect.ts'

/**
 * Reads and lands streams one after the other; while the rows of one are still stored and compared, the next is read.
 * No further one begins before the one before it has landed: what is read of more would only wait.
 *
 * @param ahead false where all transactions share one connection: then each stream has landed before the next is read.
 * @param land reads a stream through the snapshot that it is given, and lands it.
 * @throws what the first stream that failed threw, once none is under way any more: the one behind it reads no further.
 */
export async function landReadingAhead<Stream>(
  snapshot: PartnerSnapshot,
  streams: readonly Stream[],
  ahead: boolean,
  land: (stream: Stream, snapshot: PartnerSnapshot) => Promise<void>,
): Promise<void> {
  const turns = new Turns()
  const failed = new AbortController()
  const underWay: Promise<void>[] = []
  for (const stream of streams) {
    const read = Promise.withResolvers<void>()
    const landing = land(stream, inTurn(snapshot, turns, failed.signal, read.resolve))
    landing.then(read.resolve, (error: unknown) => {
      failed.abort(error)
      read.resolve()
    })
    underWay.push(landing)
    if (ahead) await read.promise
    await Promise.allSettled(ahead ? underWay.slice(0, -1) : underWay)
    if (failed.signal.aborted) break
  }
  await Promise.allSettled(underWay)
  for (const landing of underWay) await landing
}

/**
 * The snapshot as one of several streams sees it that share its connection, which answers one question at a time: a
 * reading is one until its last row.
 * @param read called at the end of each reading.
 */
function inTurn(snapshot: PartnerSnapshot, turns: Turns, stopped: AbortSignal, read: () => void): PartnerSnapshot {
  async function* whole<Rows>(rows: () => AsyncIterable<Rows>): AsyncGenerator<Rows, void, undefined> {
    const begun = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    void turns.take(async () => {
      begun.resolve()
      await over.promise
    })
    await begun.promise
    try {
      stopped.throwIfAborted()
      for await (const some of rows()) {
        stopped.throwIfAborted()
        yield some
      }
    } finally {
      over.resolve()
      read()
    }
  }
  const { server, lacks, openMs } = snapshot
  return {
    server,
    lacks,
    openMs,
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
