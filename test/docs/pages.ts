import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** A file of the project: its path from the root, and its text. */
export type Page = { path: string; text: string }

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(root, path), 'utf8') }
}

/** Every page for people: the Markdown files of the root and of docs. */
export function markdownPages(): Page[] {
  return [...readdirSync(root), ...filesUnder('docs')].filter((path) => path.endsWith('.md')).map(readPage)
}

/** Every source file. */
export function sources(): Page[] {
  return filesUnder('src')
    .filter((path) => path.endsWith('.ts'))
    .map(readPage)
}

export function existsInProject(path: string): boolean {
  return existsSync(join(root, path))
}

/** The part of a page under a heading, to the next heading of the same or a higher level. */
export function section({ path, text }: Page, heading: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (start < 0) throw new Error(`${path} has no heading "${heading}"`)
  const level = /^#+/.exec(lines[start] ?? '')?.[0].length ?? 1
  const rest = lines.slice(start + 1)
  const end = rest.findIndex((line) => /^#+ /.test(line) && (/^#+/.exec(line)?.[0].length ?? 0) <= level)
  return rest.slice(0, end < 0 ? rest.length : end).join('\n')
}

/** What stands in back quotes in the first cell of a table's rows, in order. */
export function firstCells(text: string): string[] {
  return [...text.matchAll(/^ *\| `([^`]+)` +\|/gm)].map((match) => match[1] ?? '')
}

/** Every file of a folder, by its path from the root. */
export function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}
