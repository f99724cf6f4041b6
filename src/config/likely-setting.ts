import { nearestName } from './nearest-name.ts'
import { leafPaths, namesIn } from './setting-paths.ts'

/**
 * The setting that was probably meant by a path that sets nothing: a name like it in the same section, else a setting
 * of that name in another section, else a path like it as a whole. Null: none is near.
 */
export function likelySetting(path: string): string | null {
  const keys = path.split('.')
  const typed = keys.at(-1) ?? ''
  const section = keys.slice(0, -1)
  const sibling = nearestName(typed, namesIn(section))
  if (sibling !== null) return [...section, sibling].join('.')
  const elsewhere = leafPaths().filter((known) => known.endsWith(`.${typed}`))
  if (elsewhere.length > 0) return elsewhere.join(' or ')
  return nearestName(path, leafPaths())
}

/** The suggestion as the end of a sentence; nothing where there is none. */
export function meant(name: string | null): string {
  return name === null ? '' : `; was ${name} meant?`
}
