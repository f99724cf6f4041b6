import type { Bench } from '../bench.ts'
import { at, isObject, textOf } from '../wire-json.ts'

/** The page addresses of a finished search: plain texts, or objects that contain one. */
export function addressesIn({ contract }: Pick<Bench, 'contract'>, task: unknown): string[] {
  const { pageUrls, pageUrl } = contract.names.task
  const pages = at(task, pageUrls)
  if (!Array.isArray(pages)) return []
  return pages.flatMap((page: unknown) => textOf(isObject(page) ? page[pageUrl] : page) ?? [])
}

/** The address of the one file of a finished import; null when it has none. */
export function fileAddressIn({ contract }: Pick<Bench, 'contract'>, task: unknown): string | null {
  const { file, fileUrl } = contract.names.task
  const entry = at(task, file)
  return textOf(isObject(entry) ? entry[fileUrl] : entry)
}
