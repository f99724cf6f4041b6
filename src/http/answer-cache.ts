/** How long an answer is given again. Milliseconds. */
const keptForMs = 5 * 60_000
/** Answers kept at most. */
const maxKept = 100

/**
 * Answers of queries that read a large part of the tables: what one person asked for is given to the next without
 * asking the database again, with the moment it is of.
 */
export class AnswerCache {
  readonly #kept = new Map<string, { at: number; answer: Promise<unknown> }>()

  /** @param make is called once for all who ask meanwhile. An answer that fails is not kept. */
  async get<T>(key: string, nowMs: number, make: () => Promise<T>): Promise<{ answer: T; asOf: Date }> {
    const kept = this.#kept.get(key)
    if (kept !== undefined && nowMs - kept.at < keptForMs) {
      return { answer: (await kept.answer) as T, asOf: new Date(kept.at) }
    }
    const answer = make()
    this.#kept.delete(key)
    this.#kept.set(key, { at: nowMs, answer })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest)
    answer.catch(() => {
      if (this.#kept.get(key)?.answer === answer) this.#kept.delete(key)
    })
    return { answer: await answer, asOf: new Date(nowMs) }
  }
}
