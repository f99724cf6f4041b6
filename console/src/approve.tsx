import { useState } from 'preact/hooks'
import type { ApproveRunData, GetTonightData } from './api-types.ts'
import { post } from './client.ts'
import { Ask, Table } from './parts.tsx'
import { counted, grouped } from './words.ts'

type Example = { partner_id: string; change: string; before: object | null; after: object | null }
type Held = GetTonightData['held'][number]

type Way = { held: readonly Held[]; may: 'act' | 'read'; onDone: () => void }

/** What the guard holds, run by run, and the way to let it through: first shown as the dry run tells it. */
export function Approve({ held, ...way }: Way) {
  const runs = [...Map.groupBy(held, ({ run_id }) => run_id)]
  return (
    <>
      {runs.map(([run, own]) => (
        <OfRun key={run} run={run} held={own} {...way} />
      ))}
    </>
  )
}

/** What the guard holds of a stream, and why. A partner without any row is as a rule a mistake, and not a change. */
function heldWords({ stream, reason, known, new: added, changed, gone }: Held): string {
  if (reason === 'empty') return `the partner’s database has no row of ${stream}, where ${grouped(known)} are known`
  return `of ${stream} ${grouped(added)} new, ${grouped(changed)} changed, ${grouped(gone)} gone, where ${grouped(known)} are known`
}

/** What an approval does: what is new or changed goes out with the next run, what is gone is marked so at once. */
function approvalWords(held: readonly Held[]): string {
  const sent = held.reduce((sum, plan) => sum + plan.new + plan.changed, 0)
  const gone = held.reduce((sum, plan) => sum + plan.gone, 0)
  if (sent + gone === 0) return 'The next run then goes on.'
  return [
    sent > 0 ? `The next run then sends ${counted(sent, 'row')}.` : '',
    gone > 0
      ? `${counted(gone, 'row')} ${gone === 1 ? 'is' : 'are'} marked as gone at the partner at once; nothing is sent for that, and what the service took of them stays there.`
      : '',
  ]
    .filter(Boolean)
    .join(' ')
}

function OfRun({ run, held, may, onDone }: Way & { run: number }) {
  const [preview, setPreview] = useState<{ stream: string; examples: Example[] }[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  // The button that asks is not disabled meanwhile: it would lose the focus, which comes back to it.
  const call = async (dryRun: boolean) => {
    setBusy(true)
    try {
      const { plans } = await post<ApproveRunData>(`/v1/runs/${run}/approve`, { dryRun })
      setError(null)
      setPreview(dryRun ? (plans as { stream: string; examples: Example[] }[]) : null)
      if (!dryRun) onDone()
    } catch (failed) {
      // What stands behind a dialog is neither seen nor read out.
      setPreview(null)
      setError((failed as Error).message)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div class="notice">
      <p>
        The guard stopped run {run}: {held.map(heldWords).join('; ')}. Nothing of it is sent until somebody approves.
      </p>
      {may === 'act' && (
        <button type="button" aria-disabled={busy} onClick={() => (busy ? undefined : void call(true))}>
          Approve …
        </button>
      )}
      {error !== null && <p role="alert">{error}</p>}
      {preview !== null && (
        <Ask title={`Approve what run ${run} holds?`} onClose={() => setPreview(null)}>
          <p>{approvalWords(held)} These are examples:</p>
          <Table
            name="Examples"
            empty="There are no examples."
            rows={preview.flatMap(({ stream, examples }) => examples.map((one) => ({ stream, ...one })))}
            columns={[
              { name: 'Hotel', of: ({ partner_id }) => partner_id, kind: 'key' },
              { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
              { name: 'Change', of: ({ change }) => change },
              { name: 'Known', of: ({ before }) => (before === null ? '' : JSON.stringify(before)), kind: 'fixed' },
              {
                name: 'At the partner now',
                of: ({ after }) => (after === null ? '' : JSON.stringify(after)),
                kind: 'fixed',
              },
            ]}
          />
          <p class="row">
            <button type="button" class="main" disabled={busy} onClick={() => void call(false)}>
              Approve
            </button>
            <button type="button" onClick={() => setPreview(null)}>
              Leave it held
            </button>
          </p>
        </Ask>
      )}
    </div>
  )
}
