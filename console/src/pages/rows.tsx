import { useEffect, useState } from 'preact/hooks'
import { addressOf, goWith } from '../address.ts'
import { useAnswer } from '../answer.ts'
import type { GetTonightData, ListCausesData, ListRowsData, ResendRowsData, RetryRowsData } from '../api-types.ts'
import { Approve } from '../approve.tsx'
import { get, post } from '../client.ts'
import { nowThere } from '../clock.ts'
import type { PageProps } from '../main.tsx'
import { Ask, Choice, Field, Head, HotelLink, Panel, Table, Waiting } from '../parts.tsx'
import { counted, momentWords } from '../words.ts'

const states = ['rejected', 'invalid', 'parked', 'unknown'] as const
const ages: [string, string][] = [
  ['', 'any'],
  ['1', 'a day'],
  ['7', '7 days'],
  ['30', '30 days'],
]
const dayMs = 86_400_000
/** Rows that a page of the list holds. */
const shown = 100

export function Rows({ query, may }: PageProps) {
  const state = states.find((one) => one === query.get('state')) ?? 'rejected'
  const days = Number(query.get('days') ?? '')
  const text = (name: string) => query.get(name) || undefined
  // To the minute, so that the question stays the same one.
  const since = days > 0 ? new Date(Math.floor((nowThere() - days * dayMs) / 60_000) * 60_000).toISOString() : undefined
  const filter = { stream: text('stream'), reason: text('reason'), partnerId: text('hotel'), since }
  const seen = JSON.stringify([filter.stream, filter.reason, filter.partnerId, days])
  const cursor = text('cursor')
  const asked = JSON.stringify([state, query.toString()])
  const causes = useAnswer(
    `causes ${asked}`,
    () => get<ListCausesData>('/v1/rows/causes', { state, limit: 50, ...filter }),
    15_000,
  )
  const rows = useAnswer(
    `rows ${asked}`,
    () => get<ListRowsData>('/v1/rows', { state, limit: shown, cursor, ...filter }),
    15_000,
  )
  const tonight = useAnswer('tonight', () => get<GetTonightData>('/v1/tonight'), 30_000)
  const give = (name: string) => (value: string) => goWith({ [name]: value, cursor: '' })
  return (
    <>
      <Head title="Rows" of={rows} />
      <Approve held={tonight.data?.held ?? []} may={may} onDone={tonight.again} />
      <div class="filters">
        <nav class="tabs" aria-label="State">
          {states.map((one) => (
            <a
              key={one}
              href={addressOf('rows', { state: one, hotel: filter.partnerId })}
              aria-current={one === state ? 'page' : undefined}
            >
              {one}
            </a>
          ))}
        </nav>
        <Field label="Stream" value={filter.stream ?? ''} onGive={give('stream')} />
        <Field label="Hotel" value={filter.partnerId ?? ''} onGive={give('hotel')} />
        <Field label="Text in the reason" value={filter.reason ?? ''} onGive={give('reason')} />
        <Choice label="So since" value={query.get('days') ?? ''} of={ages} onGive={give('days')} />
        <Send filter={filter} seen={seen} may={may} onDone={() => [causes, rows].map(({ again }) => again())} />
      </div>
      <Panel
        title="By cause"
        aside={causes.data !== null && <span class="small quiet">counted {momentWords(causes.data.as_of)}</span>}
      >
        {causes.data === null ? (
          <Waiting of={causes} />
        ) : (
          <Table
            name={`Causes of ${state} rows`}
            empty={`No row is ${state}${filter.stream || filter.reason || filter.partnerId || since ? ' and fits the filter' : ''}.`}
            rows={causes.data.causes}
            more={causes.data.more}
            columns={[
              { name: 'Rows', of: ({ rows: count }) => count, kind: 'number' },
              { name: 'Hotels', of: ({ hotels }) => hotels, kind: 'number' },
              { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
              { name: 'Code', of: ({ code }) => code, kind: 'key' },
              {
                name: 'Reason',
                of: ({ reason }) => reason,
                kind: 'words',
                show: ({ stream, code, reason }) => (
                  <a
                    href={addressOf('rows', {
                      state,
                      stream,
                      reason: state === 'parked' ? code : (reason ?? code),
                      hotel: filter.partnerId,
                    })}
                  >
                    <bdi dir="auto">{reason ?? code ?? 'the service gives no reason'}</bdi>
                  </a>
                ),
              },
              { name: 'First', of: ({ first_at }) => momentWords(first_at), kind: 'key' },
              { name: 'Last', of: ({ last_at }) => momentWords(last_at), kind: 'key' },
            ]}
          />
        )}
      </Panel>
      <Panel title="Rows, newest first">
        {rows.data === null ? (
          <Waiting of={rows} />
        ) : (
          <>
            <Table
              name={`Rows ${state}`}
              empty="None."
              rows={rows.data.rows}
              columns={[
                {
                  name: 'Hotel',
                  of: ({ partner_id }) => partner_id,
                  show: ({ partner_id }) => <HotelLink id={partner_id} />,
                  kind: 'key',
                },
                { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
                {
                  name: 'Reason',
                  of: ({ code, reason }) => (code === null || state === 'parked' ? reason : `${code}: ${reason}`),
                  kind: 'words',
                },
                { name: 'Since', of: ({ at }) => momentWords(at), kind: 'key' },
                { name: 'Task', of: ({ task_status }) => task_status },
                {
                  name: 'Again',
                  of: ({ retry_asked, sent_again }) =>
                    retry_asked ? 'retry asked' : sent_again && state === 'rejected' ? 'by itself' : '',
                },
                {
                  name: 'Content',
                  of: ({ content }) => JSON.stringify(content),
                  show: ({ content }) => (
                    <details>
                      <summary>show</summary>
                      <pre dir="auto">{JSON.stringify(content, null, 2)}</pre>
                    </details>
                  ),
                },
              ]}
            />
            <p class="row">
              {cursor !== undefined && (
                <a href={addressOf('rows', { ...Object.fromEntries(query), cursor: '' })}>First rows</a>
              )}
              {rows.data.next !== null && (
                <a href={addressOf('rows', { ...Object.fromEntries(query), cursor: rows.data.next })}>Further rows</a>
              )}
            </p>
          </>
        )}
      </Panel>
    </>
  )
}

type Filter = {
  stream: string | undefined
  reason: string | undefined
  partnerId: string | undefined
  since: string | undefined
}
type Verb = 'retry' | 'resend'
const paths: Record<Verb, string> = { retry: '/v1/rows/retry', resend: '/v1/rows/resend' }
/** A dry run: what was asked, while which filter was seen, and what came of it. */
type Preview = {
  verb: Verb
  body: Partial<Filter> & { all: boolean }
  seen: string
  streams: { stream: string; rows: number; suspended: number }[]
  /** Of the rows: those that changed since they were accepted, or that the guard holds. */
  changed: number
  /** Rows that stay as they are, because no run sends their stream. */
  unconfigured: number
  beyond: string[]
}

/** What a retry or a resend of a filter asks for. Accepted rows have no reason. */
function bodyOf(verb: Verb, { reason, ...rest }: Filter): Preview['body'] {
  const body = verb === 'retry' ? { ...rest, reason } : rest
  return { ...body, all: Object.values(body).every((one) => one === undefined) }
}

/** Which rows a preview is of, in words. */
function scopeWords({ verb, body: { stream, partnerId, reason, since, all } }: Preview): string {
  const parts = [
    stream && `of ${stream}`,
    partnerId && `of ${partnerId}`,
    reason && `with “${reason}” in the reason`,
    since && `since ${momentWords(since)}`,
  ].filter(Boolean)
  const named = all ? 'of every hotel and stream' : parts.join(', ')
  return `Rows that were ${verb === 'retry' ? 'rejected' : 'accepted'}, ${named}.`
}

/** What a resend means for rows that are not at the service as they are now. */
function changedWords(rows: number): string {
  return rows === 1
    ? '1 of them has changed since it was accepted, or the guard holds it: it goes out as it is now once nothing keeps it back, or as it was accepted if the change is taken back.'
    : `${rows} of them have changed since they were accepted, or the guard holds them: they go out as they are now once nothing keeps them back, or as they were accepted if the change is taken back.`
}

/** Which of so many marked rows the next run sends, where those of suspended hotels wait. */
function sentWords(rows: number, suspended: number): string {
  if (suspended === 0) return `the next run sends ${rows === 1 ? 'it' : 'them'} again, once.`
  const next = suspended === rows ? 'none' : `${rows - suspended}`
  const rest = `${counted(suspended, 'row')} of suspended hotels ${suspended === 1 ? 'waits' : 'wait'} until these are resumed`
  return `the next run sends ${next} of them again, once; ${rest}.`
}

/**
 * Retry of what was rejected and resend of what was accepted, each first shown as the dry run tells it: what is marked
 * is what was shown.
 * @param seen the filter as the address has it: a preview of another one is not shown.
 */
function Send({
  filter,
  seen,
  may,
  onDone,
}: {
  filter: Filter
  seen: string
  may: 'act' | 'read'
  onDone: () => void
}) {
  const [made, setPreview] = useState<Preview | null>(null)
  const [said, setSaid] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  useEffect(() => setPreview(null), [seen])
  if (may !== 'act') return null
  const preview = made?.seen === seen ? made : null
  const call = async (verb: Verb, body: Preview['body'], dryRun: boolean) => {
    setBusy(true)
    try {
      const answer = await post<RetryRowsData & Partial<ResendRowsData>>(paths[verb], { ...body, dryRun })
      const rows = answer.streams.reduce((sum, one) => sum + one.rows, 0)
      const suspended = answer.streams.reduce((sum, one) => sum + one.suspended, 0)
      const { streams, changed = 0, unconfigured = 0, beyond_guard: beyond = [] } = answer
      setPreview(dryRun ? { verb, body, seen, streams, changed, unconfigured, beyond } : null)
      setSaid(dryRun ? null : `${counted(rows, 'row')} marked; ${sentWords(rows, suspended)}`)
      if (!dryRun) onDone()
    } catch (failed) {
      setPreview(null)
      setSaid((failed as Error).message)
    } finally {
      setBusy(false)
    }
  }
  // A disabled button would lose the focus, which comes back to it when the question is closed.
  const show = (verb: Verb) => {
    if (!busy) void call(verb, bodyOf(verb, filter), true)
  }
  const total = preview?.streams.reduce((sum, one) => sum + one.rows, 0) ?? 0
  const suspended = preview?.streams.reduce((sum, one) => sum + one.suspended, 0) ?? 0
  const closed = () => setPreview(null)
  return (
    <>
      <button type="button" aria-disabled={busy} onClick={() => show('retry')}>
        Retry rejected …
      </button>
      <button type="button" aria-disabled={busy} onClick={() => show('resend')}>
        Resend accepted …
      </button>
      <span role="status">{said}</span>
      {preview !== null && (
        <Ask title={preview.verb === 'retry' ? 'Retry rejected rows?' : 'Resend accepted rows?'} onClose={closed}>
          <p>{scopeWords(preview)}</p>
          <p>
            {total === 0
              ? `No ${preview.unconfigured > 0 ? 'row can be marked' : 'row is like that, or all of them are marked already'}.`
              : `${counted(total, 'row')} would be marked; ${sentWords(total, suspended)}`}
          </p>
          {total > 0 && (
            <Table
              name={`What a ${preview.verb} marks`}
              empty=""
              rows={preview.streams}
              columns={[
                { name: 'Stream', of: (one) => one.stream },
                { name: 'Rows', of: (one) => one.rows, kind: 'number' },
              ]}
            />
          )}
          {preview.changed > 0 && <p>{changedWords(preview.changed)}</p>}
          {preview.unconfigured > 0 && (
            <p>
              {counted(preview.unconfigured, 'more row')} of streams that are not in the configuration: no run sends
              them, so nothing of them is marked.
            </p>
          )}
          {preview.beyond.length > 0 && (
            <p class="notice failed">
              That is more of {preview.beyond.join(', ')} than the guard lets through. If it is meant: nightferry resend
              --beyond-guard.
            </p>
          )}
          <p class="row">
            <button
              type="button"
              class="main"
              disabled={busy || total === 0 || preview.beyond.length > 0}
              onClick={() => void call(preview.verb, preview.body, false)}
            >
              {preview.verb === 'retry' ? 'Retry' : 'Resend'}
            </button>
            <button type="button" onClick={closed}>
              Leave it
            </button>
          </p>
        </Ask>
      )}
    </>
  )
}
