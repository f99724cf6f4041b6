import { type ComponentType, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { usePlace } from './address.ts'
import { CallFailed, get, post } from './client.ts'
import { Door } from './door.tsx'
import { Frame, type Who } from './frame.tsx'
import { Tonight } from './pages/tonight.tsx'
import { Head } from './parts.tsx'
import { showIn } from './words.ts'
import './tokens.css'
import './frame.css'

export type PageProps = { query: URLSearchParams; may: 'act' | 'read' }

/** Loaded when somebody goes there. */
const pages: Record<string, () => Promise<ComponentType<PageProps>>> = {
  '': async () => Tonight,
  night: async () => (await import('./pages/night.tsx')).Night,
  rows: async () => (await import('./pages/rows.tsx')).Rows,
  hotel: async () => (await import('./pages/hotel.tsx')).Hotel,
  values: async () => (await import('./pages/values.tsx')).Values,
  plan: async () => (await import('./pages/plan.tsx')).Plan,
  service: async () => (await import('./pages/service.tsx')).Service,
  doctor: async () => (await import('./pages/doctor.tsx')).Doctor,
}

const theme = localStorage.getItem('theme')
if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme

type Standing = { who: Who } | { who: null; why: string | null } | null

/** How soon a daemon that did not answer is asked again. Milliseconds. */
const againMs = 3_000
const noAnswer = 'Nightferry does not answer. The page tries again by itself.'

/** Whether a daemon is there, also one that refuses. */
async function answers(): Promise<boolean> {
  try {
    await get<Who>('/console/session')
    return true
  } catch (error) {
    return error instanceof CallFailed && error.status > 0
  }
}

function Console() {
  const [standing, setStanding] = useState<Standing>(null)
  const [away, setAway] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const begin = async () => {
      const entered = await enter()
      setAway(entered === null)
      if (entered === null) timer = setTimeout(begin, againMs)
      else setStanding(entered)
    }
    const out = () => setStanding((before) => (before?.who ? { who: null, why: null } : before))
    window.addEventListener('nightferry-signed-out', out)
    void begin()
    return () => {
      clearTimeout(timer)
      window.removeEventListener('nightferry-signed-out', out)
    }
  }, [])
  if (standing === null) {
    return (
      <main class="door">
        <h1>Nightferry</h1>
        <p role="status">{away ? noAnswer : 'Reading …'}</p>
      </main>
    )
  }
  if (standing.who === null) {
    return <Door why={standing.why} onEnter={(who) => setStanding(known(who))} />
  }
  return <Page who={standing.who} />
}

/** Enters by the code of a link, or by the session that there is; null: nobody answers. */
async function enter(): Promise<Standing> {
  const [, once] = /^#once=([\w-]+)$/.exec(window.location.hash) ?? []
  if (once !== undefined) history.replaceState(null, '', window.location.pathname + window.location.search)
  try {
    const who = once === undefined ? await get<Who>('/console/session') : await post<Who>('/console/session', { once })
    return known(who)
  } catch (error) {
    const { status, message } = error as CallFailed
    if (error instanceof CallFailed && status > 0 && status < 500)
      return { who: null, why: once === undefined ? null : message }
    return null
  }
}

function known(who: Who): { who: Who } {
  showIn(who.time_zone)
  return { who }
}

/** How often a page that stays open says so, which makes its session last. Milliseconds. */
const renewEveryMs = 10 * 60_000

function useRenewal(): void {
  useEffect(() => {
    // A daemon that is away is no reason to leave: the next turn tries again.
    const renew = () => void get<Who>('/console/session').catch(() => {})
    const timer = setInterval(renew, renewEveryMs)
    return () => clearInterval(timer)
  }, [])
}

function Page({ who }: { who: Who }) {
  useRenewal()
  const { page, query } = usePlace()
  const [loaded, setLoaded] = useState<{ page: string; Shown: ComponentType<PageProps> | null }>({
    page: '',
    Shown: Tonight,
  })
  const [away, setAway] = useState(false)
  useEffect(() => {
    let over = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const of = pages[page]
    const show = (Shown: ComponentType<PageProps> | null) => {
      if (over) return
      setAway(false)
      setLoaded({ page, Shown })
    }
    const load = () => {
      if (of === undefined) show(null)
      else void of().then(show, failed)
    }
    const failed = async () => {
      const isThere = await answers()
      if (over) return
      // A newer version has other files: what this page was built with is gone, and the new page knows its own.
      if (isThere) window.location.reload()
      setAway(!isThere)
      if (!isThere) timer = setTimeout(load, againMs)
    }
    load()
    return () => {
      over = true
      clearTimeout(timer)
    }
  }, [page])
  const { Shown } = loaded
  return (
    <Frame page={page} who={who}>
      {loaded.page !== page ? (
        <p class={away ? 'notice' : 'quiet'} role="status">
          {away ? noAnswer : 'Reading …'}
        </p>
      ) : Shown === null ? (
        <Unknown />
      ) : (
        <Shown query={query} may={who.may} />
      )}
    </Frame>
  )
}

function Unknown() {
  return (
    <>
      <Head title="No such page" />
      <p>The console has no page with this address. The pages it has are at the side.</p>
    </>
  )
}

const root = document.getElementById('console')
if (root !== null) render(<Console />, root)
