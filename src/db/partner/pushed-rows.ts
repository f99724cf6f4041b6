/** What a driver pushes row by row, held back so that no more than some rows are in memory. */
export type PushedRows<Row> = {
  push(row: Row): void
  end(): void
  fail(error: unknown): void
  /** The rows in arrays of `size`, the last one shorter. */
  batches(): AsyncGenerator<Row[]>
}

/**
 * Turns rows that are pushed into batches that are pulled.
 * @param source is stopped when a batch is full, and let go when it has been taken.
 */
export function pushedRows<Row>(size: number, source: { pause(): void; resume(): void }): PushedRows<Row> {
  let rows: Row[] = []
  let ended = false
  let failure: { error: unknown } | undefined
  let wake = () => {}
  return {
    push: (row) => {
      rows.push(row)
      if (rows.length < size) return
      source.pause()
      wake()
    },
    end: () => {
      ended = true
      wake()
    },
    fail: (error) => {
      failure ??= { error }
      wake()
    },
    batches: async function* () {
      for (;;) {
        while (rows.length < size && !ended && failure === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
            source.resume()
          })
        }
        if (failure !== undefined) throw failure.error
        if (rows.length === 0) return
        // What the driver had read already when it was stopped comes on top, and waits for its turn.
        const batch = rows.length > size ? rows.splice(0, size) : rows
        if (batch === rows) rows = []
        yield batch
      }
    },
  }
}
