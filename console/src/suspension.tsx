import { useState } from 'preact/hooks'
import type { ResumeHotelData, SuspendHotelData } from './api-types.ts'
import { post } from './client.ts'
import { Ask, Sentences } from './parts.tsx'
import type { Trace } from './trace.ts'
import { momentWords } from './words.ts'

/** That nothing of a hotel is sent, and why; and the way to suspend and to resume it. */
export function Suspension({ of, may, onDone }: { of: Trace; may: 'act' | 'read'; onDone: () => void }) {
  const [asking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const [told, setTold] = useState<readonly string[]>([])
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const { partner_id, suspended } = of
  const path = `/v1/hotels/${encodeURIComponent(partner_id)}`
  const act = async (call: () => Promise<readonly string[]>) => {
    if (busy) return
    setBusy(true)
    try {
      setTold(await call())
      setError(null)
      onDone()
    } catch (failed) {
      setError((failed as Error).message)
    } finally {
      // What stands behind a dialog is neither seen nor read out.
      setAsking(false)
      setBusy(false)
    }
  }
  const suspend = async () => {
    const done = await post<SuspendHotelData>(`${path}/suspend`, { reason })
    setReason('')
    const requests = [...new Set(done.on_the_way.map(({ submission_id }) => submission_id))]
    return [
      ...requests.map((id) => `Request ${id} carries rows of it already, and goes on.`),
      ...done.same_company.map(({ other }) => `${other} is the same company, and is sent as ever.`),
    ]
  }
  const resume = async () => {
    await post<ResumeHotelData>(`${path}/resume`, {})
    return []
  }
  const waits = suspended !== null && suspended.resumed_at === null
  return (
    <div class={suspended === null ? undefined : 'notice'}>
      {suspended !== null && <p dir="auto">{suspensionWords(suspended)}</p>}
      {told.length > 0 && waits && <Sentences of={told} />}
      {may === 'act' && (
        <button type="button" aria-disabled={busy} onClick={() => (waits ? void act(resume) : setAsking(true))}>
          {waits ? 'Resume with the next run' : 'Suspend …'}
        </button>
      )}
      {error !== null && <p role="alert">{error}</p>}
      {asking && (
        <Ask title={`Send nothing more of ${partner_id}?`} onClose={() => setAsking(false)}>
          <p>Its rows are read, and wait until somebody resumes it. What is on its way goes on.</p>
          <label>
            Why
            <input value={reason} maxLength={1000} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
          </label>
          <p class="row">
            <button
              type="button"
              class="main"
              disabled={busy || reason.trim() === ''}
              onClick={() => void act(suspend)}
            >
              Suspend
            </button>
            <button type="button" onClick={() => setAsking(false)}>
              Leave it as it is
            </button>
          </p>
        </Ask>
      )}
    </div>
  )
}

function suspensionWords({ by, reason, ...when }: NonNullable<Trace['suspended']>): string {
  if (when.resumed_at !== null)
    return `It was suspended. ${when.resumed_by} resumed it ${momentWords(when.resumed_at)}: the next run sends what is pending of it.`
  const since = `since ${momentWords(when.suspended_at)}, by ${when.suspended_by}: ${reason}`
  return by === 'pilot'
    ? `Nothing of it is sent: it is not in the pilot, which is on ${since}.`
    : `Nothing of it is sent: it is suspended ${since}.`
}
