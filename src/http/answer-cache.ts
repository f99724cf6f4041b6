/**
 * How long the picture of a variable is given again before another is computed: values change once a night.
 * Milliseconds.
 */
export const pictureKeptMs = 5 * 60_000
/** Answers kept at most. */
const maxKept = 100
/** How long a request waits for an answer that is being computed. Longer, and people wonder whether it came through. */
const patienceMs = 150
/** How long the next request is told why an answer could not be computed; then nobody asks any more. Milliseconds. */
const failureToldMs = 60_000
/** How many times as long as an answer took it is given again: a page that asks every few seconds costs a tenth. */
const restFactor = 10
/** How long after its rest an answer is given while it is computed again; an older one is waited for. Milliseconds. */
const lateMs = 60_000

/** What a request gets: an answer with the moment it is of, or since when it is being computed. */
type Given<T> = { answer: T; asOf: Date; computingSince: null } | { answer: null; computingSince: Date }

/** An answer, the moment it is of, and how long it took. */
type Kept = { at: Date; answer: unknown; tookMs: number }

type Computing = { since: Date; done: Promise<Kept> }

/** Answers of queries that read a large part of the tables, each with its moment. Two who ask the same ask it once. */
export class AnswerCache {
  readonly #kept = new Map<string, Kept>()
  readonly #computing = new Map<string, Computing>()
  /** Why answers could not be computed, until a request is told. */
  readonly #failed = new Map<string, { at: Date; error: unknown }>()
  #last: Promise<unknown> = Promise.resolve()

  /**
   * An answer within a moment: the one before until a newer one is there, or that the first is being computed. One is
   * computed at a time, so that other requests have connections.
   * @param now the moment of the request.
   * @param make an answer of it that fails is not kept.
   * @throws what `make` throws while the request waits, or threw since the one before: a question whose answer takes
   *   too long for the database would be asked for ever.
   */
  async soon<T>(key: string, now: Date, make: () => Promise<T>): Promise<Given<T>> {
    const kept = this.#kept.get(key)
    if (kept !== undefined && isYoung(kept.at, now, pictureKeptMs)) return given<T>(kept)
    this.#tellFailure(key, now)
    const { since, done } = this.#computing.get(key) ?? this.#computeInTurn(key, now, make)
    let made: Kept | undefined
    try {
      made = (await Promise.race([done, later()])) ?? kept
    } catch (error) {
      this.#failed.delete(key)
      throw error
    }
    return made === undefined ? { answer: null, computingSince: since } : given<T>(made)
  }

  /**
   * An answer that every page needs. The request waits for the first. What took little time is asked again each time;
   * what took long is given again for some times as long, and for a minute more until a newer one is there. Older than
   * that it may be of yesterday: the request waits for the newer one, and is told why there is none.
   * @param make an answer of it that waits for its turn first calls `begin` then: the wait is no cost of its own.
   * @throws what `make` throws while the request waits.
   */
  async often<T>(key: string, now: Date, make: (begin: () => void) => Promise<T>): Promise<{ answer: T; asOf: Date }> {
    const kept = this.#kept.get(key)
    if (kept !== undefined && isYoung(kept.at, now, kept.tookMs * restFactor)) return given<T>(kept)
    const { done } = this.#computing.get(key) ?? this.#compute(key, now, make)
    const isOld = kept === undefined || !isYoung(kept.at, now, kept.tookMs * restFactor + lateMs)
    if (isOld) return given<T>(await done)
    return given<T>((await Promise.race([done, later()])) ?? kept)
  }

  #computeInTurn(key: string, now: Date, make: () => Promise<unknown>): Computing {
    const began = performance.now()
    const computing = this.#compute(key, now, () => {
      const turn = this.#last.then(make)
      this.#last = turn.catch(() => {})
      return turn
    })
    computing.done.catch((error: unknown) => {
      put(this.#failed, key, { at: new Date(now.getTime() + performance.now() - began), error })
    })
    return computing
  }

  #compute(key: string, now: Date, make: (begin: () => void) => Promise<unknown>): Computing {
    const compute = async () => {
      let began = performance.now()
      const begin = () => {
        began = performance.now()
      }
      try {
        const kept = { at: now, answer: await make(begin), tookMs: performance.now() - began }
        put(this.#kept, key, kept)
        return kept
      } finally {
        this.#computing.delete(key)
      }
    }
    const computing = { since: now, done: compute() }
    this.#computing.set(key, computing)
    // Requests that wait are told of a failure; the next one computes it again.
    computing.done.catch(() => {})
    return computing
  }

  #tellFailure(key: string, now: Date): void {
    const failure = this.#failed.get(key)
    this.#failed.delete(key)
    if (failure !== undefined && isYoung(failure.at, now, failureToldMs)) throw failure.error
  }
}

/** Whether a moment is less than so long ago. One that is to come is not: the clock was set back. */
function isYoung(at: Date, now: Date, ms: number): boolean {
  return Math.abs(now.getTime() - at.getTime()) < ms
}

/** Adds to what is kept, and forgets the oldest. */
function put<T>(kept: Map<string, T>, key: string, value: T): void {
  kept.delete(key)
  kept.set(key, value)
  const [oldest] = kept.keys()
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
}

function given<T>({ at, answer }: Kept) {
  return { answer: answer as T, asOf: at, computingSince: null }
}

function later(): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, patienceMs, null))
}

const caches = new WeakMap<object, AnswerCache>()

/** The answers that a server keeps, by its context. */
export function cacheOf(context: object): AnswerCache {
  const cache = caches.get(context) ?? new AnswerCache()
  caches.set(context, cache)
  return cache
}
