import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the console as it goes out. */
export type ConsoleFile = { type: string; content: Buffer; tag: string }

/** Also from `dist/http/console`, where the package has it. */
const builtFolder = fileURLToPath(new URL('../../../console/dist', import.meta.url))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The files that `npm ci` built, by their path below `/console/`: a few hundred kilobytes, read once. Only what is here
 * is ever served, so no path can lead out of the folder. Empty if nothing was built.
 */
export function readConsoleFiles(folder = builtFolder): ReadonlyMap<string, ConsoleFile> {
  const names = namesIn(folder).filter((name) => extname(name) in types)
  return new Map(
    names.map((name) => {
      const content = readFileSync(join(folder, name))
      const tag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
      return [name.replaceAll('\\', '/'), { type: types[extname(name)] ?? '', content, tag }]
    }),
  )
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}
