import { useState } from 'preact/hooks'
import { CallFailed, post } from './client.ts'
import type { Who } from './frame.tsx'

/** Who is not signed in sees this and nothing else. */
export function Door({ why, onEnter }: { why: string | null; onEnter: (who: Who) => void }) {
  const [error, setError] = useState(why)
  const [busy, setBusy] = useState(false)
  const enter = async (event: SubmitEvent) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => {
      const value = given.get(name)
      return typeof value === 'string' ? value.trim() : ''
    }
    const by = text('by')
    setBusy(true)
    try {
      onEnter(
        await post<Who>('/console/session', {
          token: text('token'),
          ...(by !== '' && { by }),
        }),
      )
    } catch (failed) {
      setError(failed instanceof CallFailed ? failed.message : String(failed))
      setBusy(false)
    }
  }
  return (
    <main class="door">
      <h1>Nightferry</h1>
      <p class="quiet">
        Sign in with the token of the HTTP API, or call <code>nightferry console</code> on the machine itself: it opens
        this page for you.
      </p>
      <form onSubmit={(event) => void enter(event)}>
        <label>
          Token
          <input name="token" type="password" autocomplete="off" required />
        </label>
        <label>
          Your name, for the record of what people did
          <input name="by" maxLength={100} pattern="[ -~]*" autocomplete="name" />
        </label>
        <div role="alert">{error !== null && <p class="notice failed">{error}</p>}</div>
        <button type="submit" class="main" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  )
}
