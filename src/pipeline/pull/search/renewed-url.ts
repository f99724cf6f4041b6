/**
 * The address under which a task lists a page again. Pure. The query is what is renewed, so the page is the one with
 * the same path: the place in the list alone would, once the service lists its pages in another order, load one page
 * twice and another never. Where no path is the same the whole address was renewed, and the place is all there is.
 */
export function renewedUrl(page: { url: string; ordinal: number }, pageUrls: readonly string[]): string {
  const same = pageUrls.filter((url) => placeOf(url) === placeOf(page.url))
  return (same.length === 1 ? same[0] : pageUrls[page.ordinal]) ?? page.url
}

function placeOf(url: string): string {
  if (!URL.canParse(url)) return url
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
