import { useAnswer } from '../answer.ts'
import type { GetServiceData, ListActionsData } from '../api-types.ts'
import { get } from '../client.ts'
import type { PageProps } from '../main.tsx'
import { Facts, Head, Panel, Table, Waiting } from '../parts.tsx'
import { counted, grouped, momentWords } from '../words.ts'

type Key = {
  api_key_id: string | null
  used_at: string
  destination: string | null
  origin: string | null
  profile_certainty: string | null
  evidence: string | null
}

export function Service(_props: PageProps) {
  const known = useAnswer('service', () => get<GetServiceData>('/v1/service', { limit: 50 }), 10_000)
  const actions = useAnswer('actions', () => get<ListActionsData>('/v1/actions', { limit: 50 }), 10_000)
  const service = known.data
  return (
    <>
      <Head title="The service" of={known} />
      {service === null ? (
        <Waiting of={known} />
      ) : (
        <>
          <Standing of={service} />
          <div class="columns">
            <Panel title="Webhooks">
              <Webhooks of={service.webhooks} />
            </Panel>
            <Panel title="Learned sizes of requests">
              <Table
                name="Learned sizes"
                empty="Nothing was learned yet."
                rows={service.request_sizes}
                columns={[
                  { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
                  { name: 'Rows', of: ({ rows }) => rows, kind: 'number' },
                  { name: 'Since', of: ({ updated_at }) => momentWords(updated_at), kind: 'key' },
                ]}
              />
            </Panel>
          </div>
          <Panel title="Reference data, and what changed last">
            {service.reference_withheld !== null && (
              <p class="notice">
                What was fetched last was not taken: {textOf(service.reference_withheld.reason)}. If it is right:
                nightferry reference --accept.
              </p>
            )}
            <details class="apart">
              <summary>
                {service.more.reference_documents
                  ? `The ${service.reference_documents.length} documents that changed last`
                  : `${counted(service.reference_documents.length, 'document')} kept`}
              </summary>
              <Table
                name="Documents of reference data"
                empty="Nothing was fetched yet."
                rows={service.reference_documents}
                more={service.more.reference_documents}
                columns={[
                  { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
                  { name: 'Name', of: ({ name }) => name },
                  { name: 'Version', of: ({ version }) => version, kind: 'number' },
                  { name: 'Changed', of: ({ changed_at }) => momentWords(changed_at), kind: 'key' },
                  { name: 'Id', of: ({ id }) => id, kind: 'fixed' },
                ]}
              />
            </details>
            <Table
              name="Changes of reference data"
              empty="Nothing has changed since it was first fetched."
              rows={service.reference_changes}
              more={service.more.reference_changes}
              columns={[
                { name: 'Version', of: ({ version }) => version, kind: 'number' },
                { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
                { name: 'Document', of: ({ document_name }) => document_name },
                { name: 'Item', of: ({ item, item_name }) => [item, item_name].filter(Boolean).join(' ') },
                { name: 'Change', of: ({ change }) => change },
              ]}
            />
          </Panel>
          <Panel title="Tasks, newest first">
            <Table
              name="Tasks"
              empty="Nothing was sent yet."
              rows={service.tasks}
              more={service.more.tasks}
              columns={[
                { name: 'No', of: ({ submission_id }) => submission_id, kind: 'number' },
                { name: 'Run', of: ({ run_id }) => run_id, kind: 'number' },
                { name: 'Kind', of: ({ kind }) => kind, kind: 'key' },
                { name: 'State', of: ({ state }) => state },
                { name: 'Task', of: ({ correlation_id }) => correlation_id, kind: 'fixed' },
                { name: 'Status', of: ({ task_status }) => task_status },
                { name: 'Rows', of: ({ rows }) => rows, kind: 'number' },
                {
                  name: 'Error',
                  of: ({ error_code, error_message }) => [error_code, error_message].filter(Boolean).join(': '),
                  kind: 'words',
                },
                { name: 'Settled', of: ({ settled_at }) => momentWords(settled_at), kind: 'key' },
              ]}
            />
          </Panel>
        </>
      )}
      <Panel title="What people did">
        {actions.data === null ? (
          <Waiting of={actions} />
        ) : (
          <Table
            name="Actions"
            empty="Nobody did anything by hand."
            rows={actions.data.actions}
            more={actions.data.more}
            columns={[
              { name: 'When', of: ({ acted_at }) => momentWords(acted_at), kind: 'key' },
              { name: 'Verb', of: ({ verb }) => verb, kind: 'key' },
              { name: 'By', of: ({ acted_by }) => acted_by },
              { name: 'Submission', of: ({ submission_id }) => submission_id, kind: 'number' },
              { name: 'Rows', of: ({ rows }) => rows, kind: 'number' },
              { name: 'Asked', of: ({ asked }) => askedWords(asked), kind: 'words' },
              { name: 'Result', of: ({ result }) => result },
            ]}
          />
        )}
      </Panel>
    </>
  )
}

function askedWords(asked: Partial<Record<string, string>>): string {
  return Object.entries(asked)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}

function Standing({ of }: { of: GetServiceData }) {
  const key = of.key as Key | null
  const clock = of.clock
  return (
    <Panel title="Key, profile and clock">
      <Facts
        of={[
          ['Address', <code key="url">{of.base_url ?? 'not set'}</code>],
          [
            'Key',
            of.key_refused === null && key === null ? (
              'not used yet'
            ) : of.key_refused === null ? (
              <span key="key" class="mark well">
                ✓ accepted
              </span>
            ) : (
              <span key="key" class="mark failed">
                ✕ not accepted
              </span>
            ),
            of.key_refused === null
              ? key === null
                ? undefined
                : `last used ${momentWords(key.used_at)}`
              : `since ${momentWords(of.key_refused.since)}: ${of.key_refused.reason ?? ''}`,
          ],
          ['Profile', key?.profile_certainty ?? 'not known', key?.evidence ?? undefined],
          ['Destination', key?.destination ?? '–', key?.origin ?? undefined],
          [
            'Its clock',
            clock === null ? 'not measured' : `${grouped(clock.low_ms)} to ${grouped(clock.high_ms)} ms`,
            clock === null ? undefined : `against ours, ${momentWords(clock.measured_at)}`,
          ],
        ]}
      />
    </Panel>
  )
}

function Webhooks({ of }: { of: GetServiceData['webhooks'] }) {
  if (!of.configured)
    return (
      <p class="quiet">No webhook is configured. Nightferry polls; nightferry webhooks set-up says what to enter.</p>
    )
  return (
    <>
      <p>
        {of.listening ? 'A receiver listens' : 'No receiver listens'}
        {of.since === null ? '.' : `, since ${momentWords(of.since)}.`}
      </p>
      {of.warning !== null && <p class="notice">{of.warning}</p>}
      <Table
        name="Events"
        empty="No event came yet."
        rows={of.events}
        columns={[
          { name: 'Topic', of: ({ topic }) => topic },
          { name: 'State', of: ({ state }) => state },
          { name: 'Events', of: ({ events }) => events, kind: 'number' },
          { name: 'Last', of: ({ last_at }) => momentWords(last_at), kind: 'key' },
        ]}
      />
      {of.refused.length > 0 && (
        <p>
          {counted(of.refused.length, 'reason')} for refusals:{' '}
          {of.refused.map(({ reason, refused }) => `${reason} (${grouped(refused)})`).join(', ')}
        </p>
      )}
    </>
  )
}

/** A member of a document that is a text, or nothing. */
function textOf(member: unknown): string {
  return typeof member === 'string' ? member : ''
}
