import { LineHash } from './line-hash.ts'

/**
 * Buckets that the lines of a snapshot are spread over by their hash. More make a night with few changes cheaper,
 * because only buckets that differ are compared line by line; but where the server sums, more than a processor's cache
 * holds cost more than reading. Measured there with a million lines: 0.4 s with 4,096 buckets, 1.6 s with 65,536.
 */
export const buckets = 4_096

/** Words of 32 bits that the two hashes of a line have: upper and lower half of the one, then of the other. */
export const wordsOfLine = 4

/** Lines whose hashes a number can sum: of 32 bits each, and exact up to 53. */
const exactlySummed = 2 ** 20

const newline = 10

/**
 * Sums of the hashes of lines, by bucket, as the server would sum them: they do not depend on the order of the lines,
 * and count a line as often as it comes. Two 64-bit hashes name a line: two different ones of a hundred million are
 * equal by chance once in 10^22 snapshots.
 */
export class LineSums {
  /** Lines so far. */
  lines = 0
  readonly #hash = new LineHash()
  readonly #counts = new Float64Array(buckets)
  /** Halves of both hashes, summed apart. */
  readonly #halves = [0, 1, 2, 3].map(() => new Float64Array(buckets)) as [Halves, Halves, Halves, Halves]
  readonly #sums = [0, 1].map(() => new Array<bigint>(buckets).fill(0n)) as [bigint[], bigint[]]
  #summed = 0

  /**
   * Adds lines of which the last has no line end.
   * @param told takes the words of the lines' hashes, if anyone wants them; it has room for all of them.
   */
  add(lines: Buffer, told: Int32Array | null = null): void {
    let word = 0
    const view = new DataView(lines.buffer, lines.byteOffset, lines.length)
    const [highUpper, highLower, lowUpper, lowLower] = this.#halves
    const hash = this.#hash
    for (let from = 0; from <= lines.length; ) {
      const found = lines.indexOf(newline, from)
      const end = found === -1 ? lines.length : found
      hash.take(view, from, end - from, 0)
      if (told !== null) {
        told[word++] = hash.high
        told[word++] = hash.low
      }
      const bucket = hash.low & (buckets - 1)
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
      highUpper[bucket] = (highUpper[bucket] ?? 0) + hash.high
      highLower[bucket] = (highLower[bucket] ?? 0) + (hash.low >>> 0)
      hash.take(view, from, end - from, 1)
      if (told !== null) {
        told[word++] = hash.high
        told[word++] = hash.low
      }
      lowUpper[bucket] = (lowUpper[bucket] ?? 0) + hash.high
      lowLower[bucket] = (lowLower[bucket] ?? 0) + (hash.low >>> 0)
      this.lines += 1
      if (this.lines - this.#summed === exactlySummed) this.#carry()
      from = end + 1
    }
  }

  /** Adds batches of lines as they pass. */
  async *passing(batches: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const lines of batches) {
      this.add(lines)
      yield lines
    }
  }

  /** The buckets that have lines, with their number and the sums of their hashes. */
  rows(): (string | number)[][] {
    this.#carry()
    const [high, low] = this.#sums
    return Array.from(this.#counts, (lines, bucket) => [
      bucket,
      lines,
      String(high[bucket]),
      String(low[bucket]),
    ]).filter(([, lines]) => lines !== 0)
  }

  #carry(): void {
    for (const [which, sums] of this.#sums.entries()) {
      const [upper, lower] = [this.#halves[2 * which], this.#halves[2 * which + 1]]
      if (upper === undefined || lower === undefined) continue
      for (let bucket = 0; bucket < buckets; bucket++) {
        const sum = (BigInt(upper[bucket] ?? 0) << 32n) + BigInt(lower[bucket] ?? 0)
        sums[bucket] = (sums[bucket] ?? 0n) + sum
      }
      upper.fill(0)
      lower.fill(0)
    }
    this.#summed = this.lines
  }
}

type Halves = Float64Array<ArrayBuffer>
