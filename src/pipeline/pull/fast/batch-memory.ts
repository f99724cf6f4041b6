/** Bytes of companies that stand together. A company that is larger stands alone. */
const blockBytes = 256 * 1024

/** Memories that are kept for the next pages, at most: what a daemon's pages use at the same time. */
const mostSpare = 6

/** One that has grown beyond what batches usually take is not kept: blocks, and numbers. */
const usually = { blocks: 16, numbers: 512 * 1024 }

const spare: BatchMemory[] = []

/** How much of a memory is in use. */
type Mark = { block: number; bytes: number; numbers: number }

/**
 * What a batch of companies stands on, used again for a later batch: their bytes, so that no chunk of the page is kept
 * for some companies of it, and the numbers that were read from them. Buffers that live for long enough to be moved are
 * garbage that only full collections find.
 */
export class BatchMemory {
  readonly tape = new Tape()
  readonly #blocks: Buffer[] = []
  #block = 0
  #used = 0

  /** One that is empty. */
  static take(): BatchMemory {
    return spare.pop() ?? new BatchMemory()
  }

  /** Forgets all, for somebody else to use: the batch is done with. */
  giveBack(): void {
    this.backTo({ block: 0, bytes: 0, numbers: 0 })
    const isUsual = this.#blocks.length <= usually.blocks && this.tape.numbers.length <= usually.numbers
    if (isUsual && spare.length < mostSpare) spare.push(this)
  }

  /** Bytes as a copy that lasts as long as the batch. */
  keep(source: Uint8Array, from: number, to: number): Buffer {
    const length = to - from
    const kept = this.#room(length)
    kept.set(from === 0 && to === source.length ? source : source.subarray(from, to))
    return kept
  }

  mark(): Mark {
    return { block: this.#block, bytes: this.#used, numbers: this.tape.length }
  }

  /** Forgets what came since: its place is used again. */
  backTo({ block, bytes, numbers }: Mark): void {
    this.#block = block
    this.#used = bytes
    this.tape.length = numbers
  }

  #room(bytes: number): Buffer {
    if (bytes > blockBytes) return Buffer.allocUnsafeSlow(bytes)
    if (this.#used + bytes > blockBytes) {
      this.#block++
      this.#used = 0
    }
    const block = this.#blocks[this.#block] ?? Buffer.allocUnsafeSlow(blockBytes)
    this.#blocks[this.#block] = block
    const from = this.#used
    this.#used += bytes
    return block.subarray(from, this.#used)
  }
}

/** Numbers, one after the other. */
class Tape {
  numbers = new Int32Array(16 * 1024)
  length = 0

  /** Room for so many numbers; where it begins. */
  grow(numbers: number): number {
    const at = this.length
    this.length += numbers
    if (this.length > this.numbers.length) {
      const longer = new Int32Array(this.numbers.length * 2)
      longer.set(this.numbers)
      this.numbers = longer
    }
    return at
  }
}
