import { addressOf, goWith } from '../address.ts'
import { useAnswer } from '../answer.ts'
import type { GetRunData, ListNightsData, ListWarningsData, ListWavesData } from '../api-types.ts'
import { get } from '../client.ts'
import type { PageProps } from '../main.tsx'
import { Choice, Facts, Head, Mark, Panel, Sentences, Table, Waiting } from '../parts.tsx'
import { bytesWords, counted, durationWords, forWords, grouped, momentWords } from '../words.ts'

type Request = {
  submission_id: number
  kind: string
  state: string
  correlation_id: string | null
  task_status: string | null
  rows: number
  confirmed: number
  inferred: number
  rejected: number
  unknown: number
  attempted_at: string | null
  terminal_at: string | null
}
type StreamLine = Record<string, number | string | null> & { stream: string }
type Search = {
  submission_id: number
  unchanged?: number
  pages: number
  failed_pages: number
  companies: number
  calculators: number
  values: number
  added: number
  changed: number
  removed: number
  bytes: number
  quarantined: number
}
type Report = {
  remarks?: string[]
  notices?: string[]
  streams?: StreamLine[]
  submissions?: Request[]
  searches?: Search[]
}
type Waved = {
  submission_id: number
  kind: string
  state: string
  rows: number
  planned_at: string
  attempted_at: string | null
  settled_at: string | null
  released_by: { submission_id: number; rows: number }[]
}
type Wave = { wave: number; rows: number; from: string; to: string | null; submissions: Waved[] }

/** Lanes that the picture draws; the table beside it names all. */
const lanesDrawn = 60
const laneHeight = 20
const counts = [
  'read',
  'changed',
  'pending',
  'invalid',
  'parked',
  'withheld',
  'held',
  'sent',
  'confirmed',
  'inferred',
  'rejected',
  'unknown',
]

export function Night({ query }: PageProps) {
  const nights = useAnswer('nights', () => get<ListNightsData>('/v1/nights', { limit: 100 }), 30_000)
  const list = nights.data?.nights ?? []
  const run = Number(query.get('run')) || (list[0]?.run_id ?? 0)
  const other = Number(query.get('with')) || 0
  const beside = useAnswer(other > 0 ? `run ${other}` : null, () => get<GetRunData>(`/v1/runs/${other}`), 30_000)
  const of = useAnswer(run > 0 ? `run ${run}` : null, () => get<GetRunData>(`/v1/runs/${run}`), 5_000)
  const before = list.find(({ run_id, job }) => run_id < run && job === of.data?.job)
  const several = list.some(({ job }) => job !== list[0]?.job)
  const choices: [string, string][] = list.map(({ run_id, started_at, job, destination }) => [
    String(run_id),
    `Run ${run_id}, ${momentWords(started_at)}${several ? `, ${job}` : ''}${forWords(destination)}`,
  ])
  const named = (id: number): [string, string][] =>
    choices.some(([one]) => one === String(id)) || id === 0 ? choices : [[String(id), `Run ${id}`], ...choices]
  return (
    <>
      <Head title={run === 0 ? 'A night' : `Run ${run}`} of={run === 0 ? nights : of} />
      <div class="filters">
        <Choice label="Night" value={String(run)} of={named(run)} onGive={(text) => goWith({ run: text })} />
        <Choice
          label="Beside"
          value={other === 0 ? '' : String(other)}
          of={[['', 'no other night'], ...named(other)]}
          onGive={(text) => goWith({ with: text })}
        />
        {before !== undefined && other === 0 && run > 0 && (
          <a href={addressOf('night', { run, with: before.run_id })}>Beside the night before</a>
        )}
      </div>
      {run === 0 ? (
        nights.data === null ? (
          <Waiting of={nights} />
        ) : (
          <p class="quiet">No night has run yet. nightferry jobs lists what can be started.</p>
        )
      ) : of.data === null ? (
        <Waiting of={of} />
      ) : (
        <>
          {other > 0 && beside.data !== null && <Compared one={of.data} other={beside.data} />}
          <div class={other > 0 ? 'columns' : ''}>
            <OneNight run={of.data} isBeside={other > 0} />
            {other > 0 && (beside.data === null ? <Waiting of={beside} /> : <OneNight run={beside.data} isBeside />)}
          </div>
        </>
      )}
    </>
  )
}

/** What two nights come to, stream by stream. */
function Compared({ one, other }: { one: GetRunData; other: GetRunData }) {
  const lines = (run: GetRunData) => ((run.report ?? {}) as Report).streams ?? []
  const names = [...new Set([...lines(one), ...lines(other)].map(({ stream }) => stream))]
  const counted = ['read', 'sent', 'rejected', 'parked'] as const
  const at = (run: GetRunData, stream: string, name: string) => {
    const count = lines(run).find((line) => line.stream === stream)?.[name] ?? null
    return count === null ? null : Number(count)
  }
  const unreported = [one, other].filter(({ report }) => report === null)
  return (
    <Panel title={`Run ${one.run_id} beside run ${other.run_id}, in rows`}>
      {unreported.map(({ run_id }) => (
        <p key={run_id} class="quiet">
          Run {run_id} has no report: nobody counted its rows.
        </p>
      ))}
      <Table<string>
        name={`Run ${one.run_id} beside run ${other.run_id}`}
        empty="Nothing can be compared."
        rows={names}
        columns={[
          { name: 'Stream', of: (stream) => stream, kind: 'key' },
          ...counted.flatMap((name) => [
            {
              name: `${name}, run ${one.run_id}`,
              of: (stream: string) => at(one, stream, name),
              kind: 'number' as const,
            },
            {
              name: `run ${other.run_id}`,
              of: (stream: string) => at(other, stream, name),
              kind: 'number' as const,
            },
          ]),
        ]}
      />
    </Panel>
  )
}

function OneNight({ run, isBeside }: { run: GetRunData; isBeside: boolean }) {
  const report = (run.report ?? {}) as Report
  const waves = useAnswer(
    `waves ${run.run_id} ${run.state}`,
    () => get<ListWavesData>(`/v1/runs/${run.run_id}/waves`),
    run.state === 'running' ? 3_000 : 0,
  )
  const warnings = useAnswer(
    `warnings ${run.run_id} ${run.state}`,
    () => get<ListWarningsData>(`/v1/runs/${run.run_id}/warnings`, { limit: 200 }),
    run.state === 'running' ? 10_000 : 0,
  )
  const took =
    run.finished_at === null ? null : new Date(run.finished_at).getTime() - new Date(run.started_at).getTime()
  const streams = report.streams ?? []
  return (
    <div>
      <Panel title={`Run ${run.run_id} of ${run.job}`}>
        {run.failure !== null && (
          <p class="notice failed" dir="auto">
            {run.failure.message}
          </p>
        )}
        <Facts
          of={[
            ['Verdict', <Mark key="verdict" state={run.state} verdict={run.verdict} />],
            ...(run.destination === null
              ? []
              : [['Destination', run.destination, 'not the one in use'] as [string, string, string]]),
            [
              'Began',
              momentWords(run.started_at),
              `by ${run.trigger}${run.resumed > 0 ? `, resumed ${run.resumed} times` : ''}`,
            ],
            [
              'Took',
              took === null ? `at ${run.step}` : durationWords(took),
              run.finished_at === null ? undefined : `until ${momentWords(run.finished_at)}`,
            ],
            ...(report.searches ?? []).map((one): [string, string, string] => [
              'Came back',
              counted(one.values, 'value'),
              `${counted(one.pages, 'page')} (${bytesWords(one.bytes)}), ${counted(one.companies, 'company').replace('companys', 'companies')}; ${grouped(one.added)} added, ${grouped(one.changed)} changed, ${grouped(one.removed)} removed${one.failed_pages > 0 ? `; ${counted(one.failed_pages, 'page')} failed` : ''}`,
            ]),
          ]}
        />
      </Panel>
      {(report.remarks ?? []).length > 0 && (
        <Panel title="Why it is not simply well">
          <Sentences of={report.remarks ?? []} />
        </Panel>
      )}
      <Panel title="Requests, wave by wave">
        {waves.data === null ? (
          <Waiting of={waves} />
        ) : (
          <Waves
            waves={waves.data.waves as Wave[]}
            requests={report.submissions ?? []}
            more={waves.data.more}
            takenOver={waves.data.taken_over}
            isBeside={isBeside}
          />
        )}
      </Panel>
      <Panel title="Streams, in rows">
        <Table<StreamLine>
          name={`Streams of run ${run.run_id}`}
          empty={run.state === 'failed' ? 'The run failed before it could report.' : 'The run has no report yet.'}
          rows={streams.length === 0 ? [] : [...streams, sumOf(streams)]}
          columns={[
            { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
            ...counts.map((name) => ({
              name,
              of: (line: StreamLine) => (line[name] as number | null) ?? null,
              kind: 'number' as const,
            })),
          ]}
        />
      </Panel>
      {(report.searches ?? []).length > 0 && (
        <Panel title="Pages">
          <Table<Search>
            name={`Pages of run ${run.run_id}`}
            empty=""
            rows={report.searches ?? []}
            columns={[
              { name: 'Request', of: ({ submission_id }) => submission_id, kind: 'number' },
              { name: 'Pages', of: ({ pages }) => pages, kind: 'number' },
              { name: 'Failed', of: ({ failed_pages }) => failed_pages, kind: 'number' },
              { name: 'Bytes', of: ({ bytes }) => bytes, show: ({ bytes }) => bytesWords(bytes), kind: 'number' },
              { name: 'Companies', of: ({ companies }) => companies, kind: 'number' },
              { name: 'Unchanged', of: ({ unchanged }) => unchanged ?? null, kind: 'number' },
              { name: 'Calculators', of: ({ calculators }) => calculators, kind: 'number' },
              { name: 'Values', of: ({ values }) => values, kind: 'number' },
              { name: 'Added', of: ({ added }) => added, kind: 'number' },
              { name: 'Changed', of: ({ changed }) => changed, kind: 'number' },
              { name: 'Removed', of: ({ removed }) => removed, kind: 'number' },
            ]}
          />
        </Panel>
      )}
      <Panel title="What it warned of">
        {warnings.data === null ? (
          <Waiting of={warnings} />
        ) : (
          <Table
            name={`Warnings of run ${run.run_id}`}
            empty="Nothing: no request, page or stream was out of the ordinary."
            rows={warnings.data.warnings}
            more={warnings.data.more}
            columns={[
              { name: 'When', of: ({ at }) => momentWords(at), kind: 'key' },
              { name: 'Event', of: ({ event }) => event, kind: 'key' },
              { name: 'About', of: ({ about }) => about, kind: 'key' },
              { name: 'What was said', of: ({ words }) => words, kind: 'words' },
            ]}
          />
        )}
      </Panel>
      {(report.notices ?? []).length > 0 && (
        <Panel title="Worth knowing">
          <Sentences of={report.notices ?? []} />
        </Panel>
      )}
    </div>
  )
}

function sumOf(streams: StreamLine[]): StreamLine {
  const sums = counts.map((name) => [name, streams.reduce((sum, line) => sum + Number(line[name] ?? 0), 0)])
  return { ...(Object.fromEntries(sums) as Record<string, number>), stream: 'all together' }
}

/** How long the service took, as the report of the verb says it. */
function tookOf({ attempted_at = null, terminal_at = null }: Partial<Request> = {}): string {
  if (attempted_at === null || terminal_at === null) return ''
  return durationWords(new Date(terminal_at).getTime() - new Date(attempted_at).getTime())
}

/** The status of a request's task, but where the request ended without it: there it stays as it was last seen. */
function statusOf(state: string, task: string | null | undefined): string {
  return ['abandoned', 'lost', 'refused'].includes(state) ? state : (task ?? state)
}

function Waves({
  waves,
  requests,
  more,
  takenOver,
  isBeside,
}: {
  waves: Wave[]
  requests: Request[]
  more: boolean
  takenOver: ListWavesData['taken_over']
  isBeside: boolean
}) {
  const elsewhere = takenOver.map(({ run_id, submissions }) => (
    <p key={run_id} class="quiet">
      {counted(submissions, 'request')} of the run went on with{' '}
      <a href={addressOf('night', { run: run_id })}>run {run_id}</a>.
    </p>
  ))
  if (waves.length === 0) return elsewhere.length > 0 ? elsewhere : <p class="quiet">The run sent no rows.</p>
  const all = waves.flatMap(({ wave, submissions }) => submissions.map((one) => ({ wave, ...one })))
  const reported = new Map(requests.map((one) => [one.submission_id, one]))
  // A run that failed has no report: nobody counted.
  const taken = (id: number) => {
    const one = reported.get(id)
    return one === undefined ? null : one.confirmed + one.inferred
  }
  return (
    <>
      <Lanes of={all.slice(0, lanesDrawn)} reported={reported} />
      {all.length > lanesDrawn && (
        <p class="quiet">
          The picture shows the first {lanesDrawn} of {grouped(all.length)} requests.
        </p>
      )}
      {more && <p class="quiet">The run has more requests than the {grouped(all.length)} that the table shows.</p>}
      {elsewhere}
      <Table
        name={`Requests from ${all[0]?.submission_id} on`}
        empty=""
        rows={all}
        columns={[
          { name: 'Wave', of: ({ wave }) => wave, kind: 'number' },
          { name: 'No', of: ({ submission_id }) => submission_id, kind: 'number' },
          { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
          {
            name: 'Status',
            of: ({ submission_id, state }) => statusOf(state, reported.get(submission_id)?.task_status),
          },
          { name: 'Rows', of: ({ rows }) => rows, kind: 'number' },
          { name: 'Accepted', of: ({ submission_id }) => taken(submission_id), kind: 'number' },
          {
            name: 'Rejected',
            of: ({ submission_id }) => reported.get(submission_id)?.rejected ?? null,
            kind: 'number',
          },
          {
            name: 'Released by',
            of: ({ released_by }) =>
              released_by.map((one) => `${one.submission_id} (${counted(one.rows, 'row')})`).join(', '),
          },
          {
            name: 'Took',
            of: ({ submission_id }) => tookOf(reported.get(submission_id)),
            kind: 'number',
          },
          // Last, because it is as wide as the rest, and two nights share the width.
          {
            name: 'Task',
            of: ({ submission_id }) => reported.get(submission_id)?.correlation_id ?? null,
            kind: isBeside ? 'key' : 'fixed',
          },
        ]}
      />
    </>
  )
}

/** A request that brings nothing any more, one that is still at work, and one with rows that were rejected. */
function toneOf(state: string, rejected: number): string {
  if (state === 'refused' || state === 'lost' || state === 'abandoned') return 'failed'
  if (state !== 'settled') return 'running'
  return rejected > 0 ? 'needs' : ''
}

/** Each request from when it was cut to when it was settled, under the one that released it. */
function Lanes({ of, reported }: { of: (Waved & { wave: number })[]; reported: Map<number, Request> }) {
  const from = Math.min(...of.map(({ planned_at }) => Date.parse(planned_at)))
  const to = Math.max(...of.map(({ settled_at, planned_at }) => Date.parse(settled_at ?? planned_at)), from + 1)
  const width = 1_000
  const labels = 230
  const x = (moment: string | null) =>
    labels + ((width - labels - 60) * ((moment === null ? to : Date.parse(moment)) - from)) / (to - from)
  const y = new Map(of.map(({ submission_id }, index) => [submission_id, index * laneHeight]))
  const words = `${counted(of.length, 'request')} on a time line of ${durationWords(to - from)}; the table below has each of them`
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be scrollable by keyboard
    <section class="scroll" tabIndex={0} aria-label={`Time line of requests from ${of[0]?.submission_id} on`}>
      <svg
        viewBox={`0 0 ${width} ${of.length * laneHeight + 22}`}
        role="img"
        aria-label={words}
        style={{ minWidth: '640px', width: '100%' }}
      >
        {of.flatMap(({ submission_id, released_by, planned_at }) =>
          released_by
            .filter((one) => y.has(one.submission_id))
            .map((one) => (
              <path
                key={`${one.submission_id} ${submission_id}`}
                class="release"
                d={`M${x(planned_at)} ${(y.get(one.submission_id) ?? 0) + laneHeight / 2}V${(y.get(submission_id) ?? 0) + laneHeight / 2}`}
              />
            )),
        )}
        {of.map((one) => {
          const outcome = reported.get(one.submission_id)
          const tone = toneOf(one.state, outcome?.rejected ?? 0)
          const top = y.get(one.submission_id) ?? 0
          return (
            <g key={one.submission_id}>
              <text x="0" y={top + 14}>
                {one.wave} · {one.submission_id} {one.kind}
              </text>
              <rect
                class={`lane ${tone}`}
                x={x(one.planned_at)}
                y={top + 4}
                width={Math.max(2, x(one.settled_at) - x(one.planned_at))}
                height={laneHeight - 8}
                rx="2"
              />
              <text class="quiet-text" x={x(one.settled_at) + 5} y={top + 14}>
                {grouped(one.rows)}
              </text>
            </g>
          )
        })}
        <text class="quiet-text" x={labels} y={of.length * laneHeight + 16}>
          {momentWords(new Date(from))}
        </text>
        <text class="quiet-text" x={width - 60} y={of.length * laneHeight + 16} text-anchor="end">
          {durationWords(to - from)} later
        </text>
      </svg>
    </section>
  )
}
