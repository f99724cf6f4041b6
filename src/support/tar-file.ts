import { gzipSync } from 'node:zlib'

const block = 512

/**
 * A gzipped tar archive (POSIX ustar) of texts, each a file that its owner alone may read. Pure.
 * @param names relative paths of at most 100 bytes.
 */
export function tarGz(files: ReadonlyMap<string, string>, at: Date): Buffer {
  const parts = [...files].flatMap(([name, text]) => {
    const content = Buffer.from(text)
    return [header(name, content.length, at), content, Buffer.alloc((block - (content.length % block)) % block)]
  })
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * block)]))
}

function header(name: string, bytes: number, at: Date): Buffer {
  const made = Buffer.alloc(block)
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name} is too long a name`)
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`
  const fields: [at: number, text: string][] = [
    [0, name],
    [100, octal(0o600, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, octal(bytes, 12)],
    [136, octal(Math.floor(at.getTime() / 1000), 12)],
    // The sum is reckoned with blanks in its own place.
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\u000000'],
  ]
  for (const [place, text] of fields) made.write(text, place, 'latin1')
  made.write(
    `${octal(
      made.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
    'latin1',
  )
  return made
}
