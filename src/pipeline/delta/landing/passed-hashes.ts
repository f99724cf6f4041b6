import { buckets, wordsOfLine } from './line-sums.ts'

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
