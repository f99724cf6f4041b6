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
