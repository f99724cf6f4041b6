import { addressOf } from '../address.ts'
import { useAnswer } from '../answer.ts'
import type { GetRunLiveData, GetTonightData, ListNightsData } from '../api-types.ts'
import { Approve } from '../approve.tsx'
import { get } from '../client.ts'
import { nowThere } from '../clock.ts'
import type { PageProps } from '../main.tsx'
import { Facts, Head, Mark, Panel, Sentences, Table, Waiting } from '../parts.tsx'
import { ageWords, bytesWords, durationWords, forWords, grouped, momentWords, verdictOf } from '../words.ts'

type Cause = GetTonightData['causes'][number]

/** What to do about rows in a state: the one thing that helps. */
const actions: Record<string, { word: string; state: string }> = {
  rejected: { word: 'Look, fix, retry', state: 'rejected' },
  invalid: { word: 'Fix at the partner', state: 'invalid' },
  parked: { word: 'See what they wait for', state: 'parked' },
  unknown: { word: 'Goes out again by itself', state: 'unknown' },
}

export function Tonight({ may }: PageProps) {
  const known = useAnswer('tonight', () => get<GetTonightData>('/v1/tonight'), 5_000)
  const strip = useAnswer('nights', () => get<ListNightsData>('/v1/nights', { limit: 60 }), 30_000)
  const tonight = known.data
  const running = tonight?.run?.state === 'running' ? tonight.run.run_id : null
  return (
    <>
      <Head title="Tonight" of={known} />
      {tonight === null ? (
        <Waiting of={known} />
      ) : (
        <>
          <p class="sentence" data-tone={tonight.tone}>
            {tonight.sentence}
          </p>
          {tonight.key_refused !== null && (
            <p class="notice failed">
              The service has not accepted the API key since {momentWords(tonight.key_refused.since)}:{' '}
              {tonight.key_refused.reason}
            </p>
          )}
          <Approve held={tonight.held} may={may} onDone={known.again} />
          <Panel title="At a glance">
            <Glance tonight={tonight} />
          </Panel>
          {running !== null && <Live run={running} job={tonight.run?.job ?? ''} typical={tonight.ends} />}
          <Panel
            title="The last 60 nights"
            aside={
              <span class="small quiet">
                Bars: how long it took. Lines below: rows sent. Newest at the right; each leads to its night.
              </span>
            }
          >
            {strip.data === null ? <Waiting of={strip} /> : <Strip nights={strip.data.nights} />}
          </Panel>
          <Panel
            title="What needs a person, by cause"
            aside={<span class="small quiet">rows counted {momentWords(tonight.needs_as_of)}</span>}
          >
            <Table<Cause>
              name="Causes"
              empty={nothingWords(tonight)}
              rows={tonight.causes}
              more={tonight.more_causes}
              columns={[
                { name: 'State', of: ({ state }) => state, kind: 'key' },
                { name: 'Rows', of: ({ rows }) => rows, kind: 'number' },
                { name: 'Hotels', of: ({ hotels }) => hotels, kind: 'number' },
                { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
                { name: 'Reason', of: causeWords, kind: 'words' },
                {
                  name: 'What to do',
                  of: ({ state }) => actions[state]?.word ?? '',
                  show: ({ state, stream, code, reason }) => (
                    <a href={addressOf('rows', { state, stream, reason: reason ?? code })}>
                      {actions[state]?.word ?? state}
                    </a>
                  ),
                },
              ]}
            />
          </Panel>
          {tonight.troubles.length + tonight.remarks.length + tonight.notices.length > 0 && (
            <Panel title={`What run ${tonight.run?.run_id ?? ''} says`}>
              <Sentences of={[...tonight.troubles, ...tonight.remarks, ...tonight.notices]} />
            </Panel>
          )}
        </>
      )}
    </>
  )
}

function isHeld({ held, needs }: GetTonightData): boolean {
  return held.length > 0 || needs.some(({ state }) => state === 'held')
}

/** The jobs that read the partner's rows. */
const jobsThatRead = ['nightly-sync', 'push']

/** What an empty list of causes means: only a night that read the partner's rows knows of all of them. */
function nothingWords(tonight: GetTonightData): string {
  if (isHeld(tonight)) return 'Nothing but what the guard holds until somebody approves it.'
  const { job = '', state, verdict = null } = tonight.run ?? {}
  const hasRead =
    jobsThatRead.includes(job) && state !== 'running' && (verdict === 'succeeded' || verdict === 'partial')
  return hasRead
    ? `Nothing. Every row of the streams that are read is accepted, or on its way${tonight.needs.some(({ state }) => state === 'suspended') ? ', or of a suspended hotel' : ''}.`
    : 'Of what was read, no row needs a person.'
}

/** A cause in words. What parked rows wait for begins with the stream that is required. */
function causeWords({ state, code, reason }: Cause): string {
  if (state !== 'parked') return [code, reason].filter(Boolean).join(': ')
  const [required = '', ...why] = (reason ?? '').split(' ')
  if (code === 'requires_key')
    return ['waits for the service to accept the API key', why.join(' ')].filter(Boolean).join(': ')
  if (code === 'requires_overdue') return `waits behind request ${why.join(' ')}, which is overdue`
  const how = (code ?? '').replace('requires_', '').replaceAll('_', ' ')
  return `waits for its row of ${required}, which is ${how}${why.length > 0 ? `: ${why.join(' ')}` : ''}`
}

function Glance({ tonight }: { tonight: GetTonightData }) {
  const now = new Date(tonight.now)
  const run = tonight.run
  // While a run is at work it is its own end that is known.
  const ends = run?.state === 'running' ? null : tonight.ends
  return (
    <Facts
      of={[
        [
          'Fresh',
          <span key="fresh" class={`mark ${tonight.fresh ? 'well' : 'failed'}`}>
            {tonight.fresh ? '✓ as promised' : '✕ older than promised'}
          </span>,
          tonight.fresh_since === null
            ? 'nothing came through yet'
            : `data of ${ageWords(tonight.fresh_since, now)} ago; ${durationWords(tonight.fresh_within_ms)} promised`,
        ],
        [
          'Last run',
          run === null ? '–' : <Mark state={run.state} verdict={run.verdict} />,
          run === null ? undefined : (
            <a href={addressOf('night', { run: run.run_id })}>
              Run {run.run_id}, {momentWords(run.started_at)}
            </a>
          ),
        ],
        [
          'It took',
          durationWords(run?.duration_ms) || '–',
          tonight.typical_ms === null ? undefined : `${durationWords(tonight.typical_ms)} as a rule`,
        ],
        [
          'Next run',
          tonight.paused !== null ? 'paused' : tonight.next === null ? 'by hand' : momentWords(tonight.next),
          tonight.paused !== null
            ? `by ${tonight.paused.paused_by}`
            : tonight.next === null
              ? 'no schedule is set'
              : ends === null
                ? undefined
                : `ends about ${momentWords(ends)}`,
        ],
        [
          'Rows read',
          run?.read === null || run?.read === undefined ? '–' : grouped(run.read),
          run?.sent == null ? undefined : `${grouped(run.sent)} sent`,
        ],
        ...tonight.needs
          .filter(({ state }) => state in actions || state === 'held' || state === 'suspended')
          .map(({ state, rows, hotels }): [string, preact.ComponentChildren, preact.ComponentChildren] => [
            `Rows ${state}`,
            !(state in actions) ? grouped(rows) : <a href={addressOf('rows', { state })}>{grouped(rows)}</a>,
            `of ${grouped(hotels)} ${hotels === 1 ? 'hotel' : 'hotels'}`,
          ]),
      ]}
    />
  )
}

/** The nights side by side: a sign for the verdict, a bar for how long it took. */
function Strip({ nights }: { nights: ListNightsData['nights'] }) {
  if (nights.length === 0) return <p class="quiet">No night has run yet. nightferry jobs lists what can be started.</p>
  const longest = Math.max(...nights.map(({ duration_ms }) => duration_ms ?? 0), 1)
  const most = Math.max(...nights.map(({ sent }) => sent ?? 0), 1)
  return (
    <div class="nights">
      {nights.toReversed().map((night) => {
        const { tone, sign, word } = verdictOf(night.state, night.verdict)
        const sums =
          night.read === null
            ? ''
            : `, ${grouped(night.read)} rows read, ${grouped(night.sent ?? 0)} sent, ${grouped(night.rejected ?? 0)} rejected`
        const took = `${word}, ${durationWords(night.duration_ms)}${sums}${forWords(night.destination)}`
        const words = `Run ${night.run_id}, ${momentWords(night.started_at)}: ${took}`
        const height = `${4 + (64 * (night.duration_ms ?? 0)) / longest}px`
        const rows = `${(100 * (night.sent ?? 0)) / most}%`
        return (
          <a
            key={night.run_id}
            class={tone}
            href={addressOf('night', { run: night.run_id })}
            title={words}
            aria-label={words}
          >
            <b aria-hidden="true">{sign}</b>
            <i style={{ height }} />
            <span class="sent" aria-hidden="true">
              <i style={{ width: rows }} />
            </span>
          </a>
        )
      })}
    </div>
  )
}

/** The setting that says when a run of a job has to have ended. */
function deadlineSetting(job: string): string {
  return job.startsWith('search:') ? 'finishBy of its entry in pull.searches' : `jobs.${job}.finishBy`
}

/** How a run gets on. @param typical when it would end if it took as long as others did. */
function Live({ run, job, typical }: { run: number; job: string; typical: string | null }) {
  const known = useAnswer(`live ${run}`, () => get<GetRunLiveData>(`/v1/runs/${run}/live`, { limit: 50 }), 1_000)
  const live = known.data
  if (live === null) return null
  const ends = live.ends_at ?? typical
  const left = ends === null ? null : new Date(ends).getTime() - nowThere()
  return (
    <Panel title={`Run ${run} is at work: ${live.step}`} aside={<a href={addressOf('night', { run })}>All of it</a>}>
      <Facts
        of={[
          ['Rows read', grouped(live.rows_read)],
          ['Rows settled', `${grouped(live.rows_settled)} of ${grouped(live.rows_planned)}`],
          ['Requests settled', `${grouped(live.requests_settled)} of ${grouped(live.requests)}`],
          [
            'Pages loaded',
            `${grouped(live.pages_loaded)} of ${grouped(live.pages)}`,
            `${bytesWords(live.bytes)}${live.pages_failed > 0 ? `; ${grouped(live.pages_failed)} failed` : ''}`,
          ],
          [
            'Time left',
            left === null ? 'nobody knows yet' : left > 0 ? `about ${durationWords(left)}` : 'longer than as a rule',
            live.ends_at === null ? 'by how long others took' : 'at its speed now',
          ],
          ...(live.deadline === null
            ? []
            : [['Has to end', momentWords(live.deadline), deadlineSetting(job)] as [string, string, string]]),
        ]}
      />
      <progress max={Math.max(1, live.requests)} value={live.requests_settled} aria-label="Requests settled" />
      <div class="columns">
        <Table
          name="Streams of the run"
          empty="Nothing is read yet."
          rows={live.streams}
          more={live.more.streams}
          columns={[
            { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
            { name: 'Read', of: ({ read }) => read, kind: 'number' },
            { name: 'Changed', of: ({ changed }) => changed, kind: 'number' },
            { name: 'Pending', of: ({ pending }) => pending, kind: 'number' },
          ]}
        />
        <Table
          name="Requests of the run"
          empty="Nothing is sent yet."
          rows={live.submissions}
          more={live.more.submissions}
          columns={[
            { name: 'No', of: ({ submission_id }) => submission_id, kind: 'number' },
            { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
            { name: 'State', of: ({ state }) => state },
            { name: 'Task', of: ({ task_status }) => task_status },
            { name: 'Rows', of: ({ rows }) => rows, kind: 'number' },
          ]}
        />
      </div>
    </Panel>
  )
}
