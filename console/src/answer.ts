import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFailed } from './client.ts'
import { nowThere } from './clock.ts'

/** What a page knows: the newest answer, when it came, and what went wrong since. */
export type Known<T> = {
  data: T | null
  at: Date | null
  error: CallFailed | null
  /** The daemon is still computing the answer. */
  computing: boolean
  again: () => void
}

/** How soon a question that failed is asked again. Milliseconds. */
const retryMs = 3_000
/** How soon a question is asked again whose answer is being computed. Milliseconds. */
const computingMs = 500

const nothing = { data: null, at: null }

/**
 * Asks a question, and again and again while the page is seen. What was answered stays while nobody answers.
 * @param key asked again when it changes; null: nothing is asked.
 * @param everyMs 0: once.
 */
export function useAnswer<T>(key: string | null, ask: () => Promise<T>, everyMs: number): Known<T> {
  const [known, setKnown] = useState<Omit<Known<T>, 'again'> & { key: string | null }>({
    data: null,
    at: null,
    error: null,
    computing: false,
    key,
  })
  const [turn, setTurn] = useState(0)
  const asking = useRef(ask)
  asking.current = ask
  // A turn asks again.
  useEffect(() => {
    if (key === null) return
    let over = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let asked = false
    const again = (ms: number) => {
      clearTimeout(timer)
      if (!over && ms > 0) timer = setTimeout(look, ms)
    }
    // A page that is seen again, or a computer that is online again, does not wait for its turn.
    const now = () => {
      if (!document.hidden && !asked && timer !== undefined) again(1)
    }
    const look = async () => {
      if (document.hidden) return again(1_000)
      asked = true
      try {
        const data = await asking.current()
        if (over) return
        setKnown({ data, at: new Date(nowThere()), error: null, computing: false, key })
        again(everyMs)
      } catch (error) {
        if (over) return
        if (error instanceof CallFailed && error.status === 202) {
          setKnown((before) => ({ ...(before.key === key ? before : nothing), error: null, computing: true, key }))
          return again(computingMs)
        }
        const failed = error instanceof CallFailed ? error : new CallFailed(0, 'unexpected', String(error))
        setKnown((before) => ({ ...(before.key === key ? before : nothing), error: failed, computing: false, key }))
        // What is wrong with the question stays wrong.
        if (failed.status === 0 || failed.status >= 500 || failed.status === 409) again(retryMs)
      } finally {
        asked = false
      }
    }
    window.addEventListener('online', now)
    document.addEventListener('visibilitychange', now)
    void look()
    return () => {
      over = true
      clearTimeout(timer)
      window.removeEventListener('online', now)
      document.removeEventListener('visibilitychange', now)
    }
  }, [key, everyMs, turn])
  const here = known.key === key ? known : { ...nothing, error: null, computing: false }
  return { ...here, again: () => setTurn((before) => before + 1) }
}
