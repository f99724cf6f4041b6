/** A connection has one statement at a time. Those who share one take turns, in the order in which they ask. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Does the work when all that was asked for before has ended, however it did. Rejects as the work does. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work)
    this.#last = done
    return done
  }
}
