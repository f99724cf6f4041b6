import { useState } from 'preact/hooks'
import { type Known, useAnswer } from '../answer.ts'
import type { GetTonightData } from '../api-types.ts'
import { Approve } from '../approve.tsx'
import { CallFailed, get, post } from '../client.ts'
import type { PageProps } from '../main.tsx'
import { Ask, Facts, Head, HotelLink, Panel, Table, Waiting } from '../parts.tsx'
import { counted, grouped, momentWords } from '../words.ts'

type PlannedRow = {
  stream: string
  partner_id: string
  row_key: string
  why: string
  from: Record<string, unknown> | null
  to: Record<string, unknown>
}
type Made = {
  planned_at: string
  running: { run_id: number; step: string } | null
  remarks: string[]
  streams: (Record<string, number> & { stream: string })[]
  held: GetTonightData['held']
  waves: { wave: number; requests: { kind: string; partition: string; rows: number }[] }[]
  unsent: { stream: string; state: string; rows: number }[]
  rows: PlannedRow[]
}

/** A plan that is still being made. */
type Asked = { plan: number; planning_since: string }

/** How soon a plan that is being made is asked for again. Milliseconds. */
const againMs = 1_000

/** Has a plan made, and asks for it until it is there: in a large ledger that takes minutes. */
async function made(): Promise<Made> {
  const { plan } = await post<Asked>('/v1/plan', { rows: 200, wait: false })
  for (;;) {
    try {
      const answer = await post<Asked | Made>('/v1/plan', { plan })
      if ('waves' in answer) return answer
    } catch (failed) {
      // Who does not answer now may answer later; what was said stands.
      if (!(failed instanceof CallFailed) || failed.status > 0) throw failed
    }
    await new Promise((resolve) => setTimeout(resolve, againMs))
  }
}

export function Plan({ may }: PageProps) {
  const tonight = useAnswer('tonight', () => get<GetTonightData>('/v1/tonight'), 10_000)
  const [plan, setPlan] = useState<Made | null>(null)
  const [busy, setBusy] = useState(false)
  const [said, setSaid] = useState<string | null>(null)
  const [starts, setStarts] = useState(false)
  const make = async () => {
    setBusy(true)
    setSaid(null)
    try {
      setPlan(await made())
    } catch (failed) {
      setSaid((failed as Error).message)
    }
    setBusy(false)
  }
  const start = async () => {
    setStarts(false)
    try {
      const { run, joined } = await post<{ run: number; joined: boolean }>('/v1/jobs/nightly-sync/runs')
      setSaid(joined ? `Run ${run} was under way already.` : `Run ${run} has begun.`)
    } catch (failed) {
      setSaid((failed as Error).message)
    }
    tonight.again()
  }
  return (
    <>
      <Head title="Plan" of={tonight} />
      <Approve held={tonight.data?.held ?? []} may={may} onDone={tonight.again} />
      <p class="row apart">
        {may === 'act' ? (
          <>
            <button type="button" class="main" disabled={busy} onClick={() => void make()}>
              {busy ? 'Reading the partner’s database …' : 'Work out what a run would send now'}
            </button>
            <button type="button" onClick={() => setStarts(true)}>
              Start a run …
            </button>
          </>
        ) : (
          <span class="quiet">
            A plan reads the partner’s database as a run does: sign in with the token that may act.
          </span>
        )}
      </p>
      <div role="status">{said !== null && <p class="notice">{said}</p>}</div>
      {starts && (
        <Ask title="Start nightly-sync now?" onClose={() => setStarts(false)}>
          <p>
            It reads the partner’s database, and sends what is ready. The plan on this page says what that would be.
          </p>
          <p class="row">
            <button type="button" class="main" onClick={() => void start()}>
              Start
            </button>
            <button type="button" onClick={() => setStarts(false)}>
              Leave it
            </button>
          </p>
        </Ask>
      )}
      {plan === null ? <Before tonight={tonight} /> : <Shown plan={plan} />}
    </>
  )
}

/** What is known without reading the partner's database. */
function Before({ tonight }: { tonight: Known<GetTonightData> }) {
  if (tonight.data === null) return <Waiting of={tonight} />
  const { needs, next, held } = tonight.data
  return (
    <Panel
      title="What waits already"
      aside={<span class="small quiet">A plan adds what changed at the partner. It sends and changes nothing.</span>}
    >
      <Facts
        of={[
          ['Next run', next === null ? 'by hand' : momentWords(next)],
          ['The guard', held.length === 0 ? 'holds nothing' : `stopped ${runsOf(held)}`],
          ...needs.map(({ state, rows, hotels }): [string, string, string] => [
            `Rows ${state}`,
            grouped(rows),
            `of ${counted(hotels, 'hotel')}`,
          ]),
        ]}
      />
      {needs.length === 0 && held.length === 0 && <p class="quiet">No row waits: all that was read is accepted.</p>}
    </Panel>
  )
}

function runsOf(held: GetTonightData['held']): string {
  return [...new Set(held.map(({ run_id }) => `run ${run_id}`))].join(' and ')
}

/** Why no request is planned: only where no row is kept back either is all of it at the service. */
function nothingSentWords({ held, unsent }: Made): string {
  if (held.length > 0) return 'Nothing would be sent: the guard would stop the run.'
  return unsent.length > 0 ? 'Nothing would be sent.' : 'Nothing would be sent: everything is as the service has it.'
}

function Shown({ plan }: { plan: Made }) {
  const requests = plan.waves.flatMap(({ wave, requests: of }) => of.map((one) => ({ wave, ...one })))
  const rows = requests.reduce((sum, one) => sum + one.rows, 0)
  return (
    <>
      <Panel title={`What a run would send, as of ${momentWords(plan.planned_at)}`}>
        {plan.remarks.map((remark) => (
          <p key={remark} class="notice">
            {remark}
          </p>
        ))}
        <Facts
          of={[
            ['Rows', grouped(rows), `in ${counted(requests.length, 'request')}, ${counted(plan.waves.length, 'wave')}`],
            [
              'Not sent',
              grouped(plan.unsent.reduce((sum, one) => sum + one.rows, 0)),
              plan.unsent.map((one) => `${grouped(one.rows)} ${one.state}`).join(', '),
            ],
            [
              'The guard',
              plan.held.length === 0 ? 'lets it through' : 'would stop it',
              plan.held.map(({ stream }) => stream).join(', '),
            ],
            ...(plan.running === null
              ? []
              : [
                  ['Under way', `Run ${plan.running.run_id}`, 'what it holds is left to it'] as [
                    string,
                    string,
                    string,
                  ],
                ]),
          ]}
        />
      </Panel>
      <div class="columns">
        <Panel title="Requests">
          <Table
            name="Planned requests"
            empty={nothingSentWords(plan)}
            rows={requests}
            columns={[
              { name: 'Wave', of: ({ wave }) => wave, kind: 'number' },
              { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
              { name: 'Rows', of: (one) => one.rows, kind: 'number' },
            ]}
          />
        </Panel>
        <Panel title="Not sent">
          <Table
            name="Rows not sent"
            empty="Nothing is kept back."
            rows={plan.unsent}
            columns={[
              { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
              { name: 'State', of: ({ state }) => state },
              { name: 'Rows', of: (one) => one.rows, kind: 'number' },
            ]}
          />
        </Panel>
      </div>
      <Panel title="Row by row, what differs from what the service has accepted">
        <Table<PlannedRow>
          name="Planned rows"
          empty="No row would be sent."
          rows={plan.rows}
          more={rows - plan.rows.length}
          columns={[
            {
              name: 'Hotel',
              of: ({ partner_id }) => partner_id,
              show: ({ partner_id }) => <HotelLink id={partner_id} />,
              kind: 'key',
            },
            { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
            { name: 'Why', of: ({ why }) => why, kind: 'words' },
            { name: 'Difference', of: differenceWords, kind: 'words' },
          ]}
        />
      </Panel>
    </>
  )
}

function differenceWords({ from, to }: PlannedRow): string {
  const names = [...new Set([...Object.keys(from ?? {}), ...Object.keys(to)])]
  const words = (value: unknown) =>
    value === undefined ? 'nothing' : typeof value === 'string' ? value : JSON.stringify(value)
  const differences = names
    .filter((name) => JSON.stringify(from?.[name]) !== JSON.stringify(to[name]))
    .map((name) =>
      from === null ? `${name}: ${words(to[name])}` : `${name}: ${words(from[name])} → ${words(to[name])}`,
    )
  return differences.length === 0 ? 'as it was accepted' : differences.join('; ')
}
