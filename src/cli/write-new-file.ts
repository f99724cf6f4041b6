import { writeFile } from 'node:fs/promises'
import { UsageError } from './cli.ts'

/**
 * Writes a file that a person named.
 * @param options.flag `wx` refuses a file that is there.
 * @throws {UsageError} when it is there, or cannot be written, with the reason.
 */
export async function writeNewFile(
  file: string,
  content: string | Uint8Array,
  options: { flag: 'w' | 'wx'; mode?: number },
): Promise<void> {
  try {
    await writeFile(file, content, options)
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    if (code === 'EEXIST') {
      throw new UsageError(`${file} exists already: name another file, or overwrite it with --force`)
    }
    throw new UsageError(`${file} cannot be written: ${message}. Name another file with its option.`)
  }
}
