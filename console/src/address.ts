import { useEffect, useState } from 'preact/hooks'

/** Where the console stands: every view has an address that can be sent to a colleague. */
export type Place = { page: string; query: URLSearchParams }

const base = '/console/'
const changed = 'nightferry-place'

function placeNow(): Place {
  const { pathname, search } = window.location
  return {
    page: pathname.startsWith(base) ? pathname.slice(base.length).replace(/\/$/, '') : '',
    query: new URLSearchParams(search),
  }
}

/** The address of a page of the console; what is empty is left out. */
export function addressOf(page: string, query: Record<string, string | number | null | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${base}${page}${text === '' ? '' : `?${text}`}`
}

/** Goes to an address of the console without loading the page again. */
export function goTo(address: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', address)
  else history.replaceState(null, '', address)
  window.dispatchEvent(new Event(changed))
}

/** The same page with some parts of its state changed. */
export function goWith(query: Record<string, string | number | null | undefined>): void {
  const { page, query: now } = placeNow()
  goTo(addressOf(page, { ...Object.fromEntries(now), ...query }))
}

export function usePlace(): Place {
  const [place, setPlace] = useState(placeNow)
  useEffect(() => {
    const update = () => setPlace(placeNow())
    const onClick = (event: MouseEvent) => {
      const link = (event.target as Element).closest?.('a[href]')
      if (!(link instanceof HTMLAnchorElement) || link.origin !== window.location.origin) return
      if (
        event.defaultPrevented ||
        event.button !== 0 ||
        event.metaKey ||
        event.ctrlKey ||
        event.shiftKey ||
        event.altKey
      )
        return
      if (!link.pathname.startsWith(base) || link.hasAttribute('download') || link.target !== '' || link.hash !== '')
        return
      event.preventDefault()
      const pageChanges = link.pathname !== window.location.pathname
      goTo(link.pathname + link.search)
      if (pageChanges) window.scrollTo(0, 0)
    }
    window.addEventListener('popstate', update)
    window.addEventListener(changed, update)
    document.addEventListener('click', onClick)
    return () => {
      window.removeEventListener('popstate', update)
      window.removeEventListener(changed, update)
      document.removeEventListener('click', onClick)
    }
  }, [])
  return place
}
