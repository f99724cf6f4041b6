/**
 * Bytes of values that a batch may have, however few its rows are. Texts of a row may be millions of characters long,
 * and thousands of such rows do not fit into memory; ordinary ones are far from it.
 */
const batchBytes = 1024 * 1024

/** What a driver pushes row by row, kept back so that no more than some rows are in memory. */
type PushedRows<Row> = {
  readonly push: (row: Row) => void
  readonly end: () => void
  readonly fail: (error: unknown) => void
  /** The rows in arrays of `size`, shorter where the rows are long, and at the end. What comes later is not kept. */
  batches(): AsyncGenerator<Row[]>
}

/**
 * Turns rows that are pushed into batches that are pulled.
 * @param weigh bytes of a row's values, more or less.
 * @param source is stopped when a batch is full, and let go when it has been taken.
 */
export function pushedRows<Row>(
  size: number,
  weigh: (row: Row) => number,
  source: { pause(): void; resume(): void },
): PushedRows<Row> {
  let rows: Row[] = []
  let bytes = 0
  let ended = false
  let wanted = true
  let failure: { error: unknown } | undefined
  let wake = () => {}
  const isFull = () => rows.length >= size || bytes >= batchBytes
  const take = (): Row[] => {
    let count = 0
    let taken = 0
    for (const row of rows) {
      if (count >= size || taken >= batchBytes) break
      count += 1
      taken += weigh(row)
    }
    bytes -= taken
    // What the driver had read already when it was stopped comes on top, and waits for its turn.
    if (count < rows.length) return rows.splice(0, count)
    const batch = rows
    rows = []
    return batch
  }
  return {
    push: (row) => {
      if (!wanted) return
      rows.push(row)
      bytes += weigh(row)
      if (!isFull()) return
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
      try {
        for (;;) {
          while (!isFull() && !ended && failure === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve
              source.resume()
            })
          }
          if (failure !== undefined) throw failure.error
          if (rows.length === 0) return
          yield take()
        }
      } finally {
        wanted = false
      }
    },
  }
}
