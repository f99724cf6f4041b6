import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { addressOf, goTo } from './address.ts'
import { remove } from './client.ts'
import { shownZone } from './words.ts'

/** The pages in their order, each with the key that leads there after `g`. */
export const places = [
  ['', 'Tonight', 't'],
  ['night', 'A night', 'n'],
  ['rows', 'Rows', 'r'],
  ['hotel', 'A hotel', 'h'],
  ['values', 'Values', 'v'],
  ['plan', 'Plan', 'p'],
  ['service', 'The service', 's'],
  ['doctor', 'Doctor and settings', 'd'],
] as const

export type Who = { may: 'act' | 'read'; by: string; until: string; time_zone: string }

export function Frame({ page, who, children }: { page: string; who: Who; children: ComponentChildren }) {
  useKeys()
  return (
    <div class="frame">
      <a class="skip" href="#content">
        To the content
      </a>
      <header class="side">
        <a class="brand" href={addressOf('')}>
          <img src="/console/icon.svg" alt="" /> Nightferry
        </a>
        <nav aria-label="Pages">
          <ul>
            {places.map(([path, name, key]) => (
              <li key={path}>
                <a href={addressOf(path)} aria-current={path === page ? 'page' : undefined}>
                  {name}{' '}
                  <span class="hint" aria-hidden="true">
                    g{key}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="who">
          <span>
            Times in <b data-zone>{shownZone()}</b>
          </span>
          <span>
            <bdi>{who.by}</bdi> may {who.may === 'act' ? 'read and act' : 'read'}
          </span>
          <span class="row">
            <Theme />
            <SignOut />
          </span>
        </div>
      </header>
      <main class="page" id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

/** Only the daemon can take the cookie away: where it does not answer, the page says that nobody is signed out. */
function SignOut() {
  const [why, setWhy] = useState<string | null>(null)
  const leave = async () => {
    try {
      await remove('/console/session')
      window.dispatchEvent(new Event('nightferry-signed-out'))
    } catch (failed) {
      setWhy((failed as Error).message)
    }
  }
  return (
    <>
      <button type="button" onClick={() => void leave()}>
        Sign out
      </button>
      <span role="alert">{why !== null && `You are still signed in: ${why}`}</span>
    </>
  )
}

function Theme() {
  const [dark, setDark] = useState(
    () => document.documentElement.dataset.theme === 'dark' || matchMedia('(prefers-color-scheme: dark)').matches,
  )
  const turn = () => {
    document.documentElement.dataset.theme = dark ? 'light' : 'dark'
    localStorage.setItem('theme', dark ? 'light' : 'dark')
    setDark(!dark)
  }
  return (
    <button type="button" onClick={turn} aria-pressed={dark}>
      Dark
    </button>
  )
}

/** `g` and a letter lead to a page, `/` to the first field. Not while somebody types. */
function useKeys(): void {
  useEffect(() => {
    let goes = false
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return
      if (document.querySelector('dialog[open]') !== null) return
      const place = goes ? places.find(([, , key]) => key === event.key) : undefined
      goes = event.key === 'g'
      if (place !== undefined) {
        goTo(addressOf(place[0]))
        document.getElementById('content')?.focus()
      }
      if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('main input, main select')
        if (field !== null) event.preventDefault()
        field?.focus()
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}
