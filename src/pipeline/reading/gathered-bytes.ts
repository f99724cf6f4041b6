/**
 * Bytes that arrive in pieces, copied together: however small the pieces are, no more memory than twice their bytes is
 * held, and none of the chunks that they were cut from.
 */
export class GatheredBytes {
  #buffer = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(this.#length === 0 ? needed : Math.max(needed, 2 * this.#buffer.length))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    this.#buffer.set(piece, this.#length)
    this.#length = needed
  }

  /** Everything since the last `take`; it stays the caller's own. */
  take(): Uint8Array {
    const bytes = this.#buffer.subarray(0, this.#length)
    this.#buffer = Buffer.alloc(0)
    this.#length = 0
    return bytes
  }
}
