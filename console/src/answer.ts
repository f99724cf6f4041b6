import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFailed } from './client.ts'

/** What a page knows: the newest answer, when it came, and what went wrong since. */
export type Known<T> = {
  data: T | null
  at: Date | null
  error: CallFailed | null
  again: () => void
}

/** How soon a question that failed is asked again. Milliseconds. */
const retryMs = 3_000

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
    key,
  })
  const [turn, setTurn] = useState(0)
  const asking = useRef(ask)
  asking.current = ask
  // biome-ignore lint/correctness/useExhaustiveDependencies: a turn asks again
  useEffect(() => {
    if (key === null) return
    let over = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const again = (ms: number) => {
      if (!over && ms > 0) timer = setTimeout(look, ms)
    }
    const look = async () => {
      if (document.hidden) return again(1_000)
      try {
        const data = await asking.current()
        if (over) return
        setKnown({ data, at: new Date(), error: null, key })
        again(everyMs)
      } catch (error) {
        if (over) return
        const failed = error instanceof CallFailed ? error : new CallFailed(0, 'unexpected', String(error))
        if (failed.status === 401) window.dispatchEvent(new Event('nightferry-signed-out'))
        setKnown((before) => ({ ...(before.key === key ? before : { data: null, at: null }), error: failed, key }))
        // What is wrong with the question stays wrong.
        if (failed.status === 0 || failed.status >= 500 || failed.status === 409) again(retryMs)
      }
    }
    void look()
    return () => {
      over = true
      clearTimeout(timer)
    }
  }, [key, everyMs, turn])
  const here = known.key === key ? known : { data: null, at: null, error: null }
  return { ...here, again: () => setTurn((before) => before + 1) }
}
