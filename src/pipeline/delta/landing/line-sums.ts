/**
 * Buckets that the lines of a snapshot are spread over by their hash. More make a night with few changes cheaper,
 * because only buckets that differ are compared line by line; but where the server sums, more than a processor's cache
 * holds cost more than reading. Measured there with a million lines: 0.4 s with 4,096 buckets, 1.6 s with 65,536.
 */
export const buckets = 4_096

/** Words of 32 bits that the two hashes of a line have: upper and lower half of the one, then of the other. */
const wordsOfLine = 4

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

/**
 * The hash that PostgreSQL's `hashtextextended` takes of a text in UTF-8, taken here, of bytes as they pass: so nobody
 * has to ask the server for the hash of each line. It is Jenkins' lookup3, read in little-endian words; hash partitions
 * are placed by it, so that no version of PostgreSQL can change it. What a server on another kind of processor, or in
 * another encoding, makes of it is asked before it is relied on.
 *
 * An object that is used again: a hash per line would be two objects per line.
 */
export class LineHash {
  /** The upper 32 bits, signed. */
  high = 0
  /** The lower 32 bits, signed too. */
  low = 0

  /** @param seed 0 to 2^31 - 1. */
  take(bytes: DataView, from: number, length: number, seed: number): void {
    let a = (0x9e3779b9 + length + 3_923_095) | 0
    let b = a
    let c = a
    let at = from
    let left = length
    // A seed goes in like a first block.
    let mixing = seed !== 0
    if (mixing) b = (b + seed) | 0
    for (;;) {
      if (mixing) {
        a = (a - c) ^ ((c << 4) | (c >>> 28))
        c = (c + b) | 0
        b = (b - a) ^ ((a << 6) | (a >>> 26))
        a = (a + c) | 0
        c = (c - b) ^ ((b << 8) | (b >>> 24))
        b = (b + a) | 0
        a = (a - c) ^ ((c << 16) | (c >>> 16))
        c = (c + b) | 0
        b = (b - a) ^ ((a << 19) | (a >>> 13))
        a = (a + c) | 0
        c = (c - b) ^ ((b << 4) | (b >>> 28))
        b = (b + a) | 0
      }
      if (left < 12) break
      a = (a + bytes.getInt32(at, true)) | 0
      b = (b + bytes.getInt32(at + 4, true)) | 0
      c = (c + bytes.getInt32(at + 8, true)) | 0
      at += 12
      left -= 12
      mixing = true
    }
    // The lowest byte of the third word is that of the length.
    for (let index = 0; index < left; index++) {
      const byte = bytes.getUint8(at + index)
      if (index < 4) a = (a + (byte << (8 * index))) | 0
      else if (index < 8) b = (b + (byte << (8 * index - 32))) | 0
      else c = (c + (byte << (8 * index - 56))) | 0
    }
    c = (c ^ b) - ((b << 14) | (b >>> 18))
    a = (a ^ c) - ((c << 11) | (c >>> 21))
    b = (b ^ a) - ((a << 25) | (a >>> 7))
    c = (c ^ b) - ((b << 16) | (b >>> 16))
    a = (a ^ c) - ((c << 4) | (c >>> 28))
    b = (b ^ a) - ((a << 14) | (a >>> 18))
    c = (c ^ b) - ((b << 24) | (b >>> 8))
    this.high = b | 0
    this.low = c | 0
  }
}

/** Lines that there is room for at first. */
const firstRoom = 4_096

/** Four values: an integer of four bytes, and three of eight, each behind its length. */
const rowBytes = 2 + (4 + 4) + 3 * (4 + 8)

/**
 * Hashes of lines that have passed and whose rows are not written yet, in the order in which they came. Their memory is
 * used again and again: as objects of their own they would be two per line.
 */
export class PassedHashes {
  #words = new Int32Array(firstRoom * wordsOfLine)
  #taken = 0
  #end = 0
  #rows = Buffer.allocUnsafeSlow(firstRoom * rowBytes)

  /** Room for the hashes of so many lines, which come next. */
  room(lines: number): Int32Array {
    const wanted = lines * wordsOfLine
    if (this.#end + wanted > this.#words.length) {
      const waiting = this.#words.subarray(this.#taken, this.#end)
      const enough = waiting.length + wanted
      const words = enough > this.#words.length ? new Int32Array(2 * enough) : this.#words
      words.set(waiting)
      this.#words = words
      this.#taken = 0
      this.#end = waiting.length
    }
    this.#end += wanted
    return this.#words.subarray(this.#end - wanted, this.#end)
  }

  /**
   * The next lines as rows of `kept_line`, in COPY's binary form.
   *
   * @param rows ledger rows, each of so many lines, and the numbers that they have.
   * @returns bytes that the next call writes over.
   */
  take(rows: readonly { parts?: number }[], numbers: readonly number[]): Buffer {
    let lines = 0
    for (const { parts = 1 } of rows) lines += parts
    if (this.#rows.length < lines * rowBytes) this.#rows = Buffer.allocUnsafeSlow(2 * lines * rowBytes)
    const view = new DataView(this.#rows.buffer)
    let at = 0
    for (let index = 0; index < rows.length; index++) {
      const id = numbers[index] ?? 0
      for (let part = rows[index]?.parts ?? 1; part > 0; part--) {
        this.#write(view, at, id)
        at += rowBytes
      }
    }
    return this.#rows.subarray(0, at)
  }

  #write(view: DataView, at: number, id: number): void {
    const next = this.#taken
    this.#taken += wordsOfLine
    view.setInt16(at, 4)
    view.setInt32(at + 2, 4)
    view.setInt32(at + 6, this.#word(next + 1) & (buckets - 1))
    view.setInt32(at + 10, 8)
    view.setInt32(at + 14, this.#word(next))
    view.setInt32(at + 18, this.#word(next + 1))
    view.setInt32(at + 22, 8)
    view.setInt32(at + 26, this.#word(next + 2))
    view.setInt32(at + 30, this.#word(next + 3))
    view.setInt32(at + 34, 8)
    view.setUint32(at + 38, Math.floor(id / 2 ** 32))
    view.setUint32(at + 42, id % 2 ** 32)
  }

  #word(at: number): number {
    return this.#words[at] ?? 0
  }
}
