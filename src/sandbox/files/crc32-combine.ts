/** 32 columns of a 32 × 32 matrix over GF(2), each an unsigned number. */
type Matrix = readonly number[]

/** What one zero bit does to a CRC-32: the polynomial of gzip, reflected, and a shift. */
const oneZeroBit: Matrix = [0xedb88320, ...Array.from({ length: 31 }, (_, bit) => 2 ** bit)]

/**
 * The CRC-32 of two byte strings put together, from the CRC-32 of each and the second one's length: as zlib's
 * `crc32_combine`, which Node does not offer. The head of a page is written last, when its body has been counted.
 */
export function combineCrc32(first: number, second: number, secondLength: number): number {
  let crc = first
  let zeros = square(square(square(oneZeroBit)))
  for (let bytes = secondLength; bytes > 0; bytes = Math.floor(bytes / 2)) {
    if (bytes % 2 === 1) crc = times(zeros, crc)
    zeros = square(zeros)
  }
  return (crc ^ second) >>> 0
}

function square(matrix: Matrix): Matrix {
  return matrix.map((column) => times(matrix, column))
}

function times(matrix: Matrix, vector: number): number {
  let sum = 0
  for (const [bit, column] of matrix.entries()) if ((vector >>> bit) & 1) sum ^= column
  return sum >>> 0
}
