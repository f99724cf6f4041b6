import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { routeReference } from './route-reference.ts'
import { settingReference } from './setting-reference.ts'
import { streamReference } from './stream-reference.ts'
import { verbReference } from './verb-reference.ts'
import { worldReference } from './world-reference.ts'

const begin = '<!-- `npm run generate` writes what follows, up to the next mark. -->'
const end = '<!-- Here ends what `npm run generate` writes. -->'

/** A page whose middle is generated; people write what stands around it. */
export type ReferencePage = { path: string; text: string }

/** The reference pages as they should be: the text on disk, with the generated part made again. */
export async function referencePages(): Promise<ReferencePage[]> {
  const parts = {
    'docs/streams.md': streamReference(),
    'docs/verbs.md': await verbReference(),
    'docs/settings.md': settingReference(),
    'docs/http-api.md': routeReference(),
    'docs/sandbox.md': worldReference(),
  }
  return Object.entries(parts).map(([path, part]) => ({ path, text: withPart(path, part) }))
}

/** @throws {Error} when a page has lost its marks. */
function withPart(path: string, part: string): string {
  const text = readFileSync(fileOf(path), 'utf8')
  const [before, ...rest] = text.split(begin)
  const after = rest.join(begin).split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${path} lacks the marks of its generated part`)
  return `${before}${begin}\n\n${part}\n\n${end}${after}`
}

/** Where a page is on disk, by its path in the project. */
export function fileOf(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url))
}
