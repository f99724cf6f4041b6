import { addressOf, goTo, goWith } from '../address.ts'
import { useAnswer } from '../answer.ts'
import type { ListChangesData, ListHotelDocumentsData, ListHotelValuesData } from '../api-types.ts'
import { get, getExact } from '../client.ts'
import { exactText } from '../exact.ts'
import type { PageProps } from '../main.tsx'
import { Choice, Facts, Field, Head, Name, Panel, Table, Waiting } from '../parts.tsx'
import { Plot } from '../plot.tsx'
import { Suspension } from '../suspension.tsx'
import {
  type Back,
  comparedInputs,
  differencesOf,
  foreignOf,
  goneSince,
  type Happening,
  happeningsOf,
  nothingOpenWords,
  searchedWords,
  staleWords,
  sumsOf,
  type Trace,
} from '../trace.ts'
import { counted, grouped, momentWords, periodWords } from '../words.ts'

type Value = ListHotelValuesData['values'][number]
type Change = {
  changed_at: string
  variable_name: string | null
  direction: string
  period_year: number
  period_month: number | null
  kind: string
  before: string | null
  after: string | null
}

export function Hotel({ query, may }: PageProps) {
  const id = query.get('id') ?? ''
  const trace = useAnswer(
    id === '' ? null : `trace ${id}`,
    () => get<Trace>(`/v1/hotels/${encodeURIComponent(id)}`),
    30_000,
  )
  const known = trace.data?.partner_id ?? null
  const own = encodeURIComponent(known ?? '')
  const values = useAnswer(
    known && `values ${known}`,
    () => get<ListHotelValuesData>(`/v1/hotels/${own}/values`),
    60_000,
  )
  const documents = useAnswer(
    known && `documents ${known}`,
    () => getExact<ListHotelDocumentsData>(`/v1/hotels/${own}/documents`),
    60_000,
  )
  const changes = useAnswer(
    known && `changes ${known}`,
    () => get<ListChangesData>('/v1/changes', { partnerId: known ?? '', limit: 100 }),
    60_000,
  )
  // What the page is given of a hotel with very many rows is these first.
  const open = (trace.data?.rows ?? []).filter(({ state }) => state !== 'accepted' && state !== 'gone')
  return (
    <>
      <Head title={known === null ? 'A hotel' : `Hotel ${known}`} of={trace} />
      <div class="filters">
        <Field
          label="The partner’s id, or the company’s"
          value={id}
          onGive={(text) => goTo(addressOf('hotel', { id: text }))}
        />
      </div>
      {id === '' ? (
        <p class="quiet">
          Which hotel? Its id at the partner, such as H-0001, or the id of its company at the service.
        </p>
      ) : trace.data === null ? (
        <Waiting of={trace} />
      ) : (
        <>
          <Suspension key={trace.data.partner_id} of={trace.data} may={may} onDone={trace.again} />
          <Standing trace={trace.data} />
          <div class="columns">
            <Panel title="What happened">
              <Timeline of={happeningsOf(trace.data)} />
              <Older of={trace.data} />
            </Panel>
            <Panel title="Rows that are not accepted">
              <Table
                name={`Rows of ${trace.data.partner_id}`}
                empty={nothingOpenWords(trace.data)}
                rows={open}
                more={open.length === trace.data.rows.length ? trace.data.more.rows : 0}
                columns={[
                  { name: 'Stream', of: ({ stream }) => stream, kind: 'key' },
                  { name: 'State', of: ({ state }) => state },
                  {
                    name: 'Reason',
                    of: ({ code, reason }) => [code, reason].filter(Boolean).join(': '),
                    kind: 'words',
                  },
                  {
                    name: 'Content',
                    of: ({ content }) => JSON.stringify(content),
                    kind: 'fixed',
                    show: ({ content }) => <Content of={content} />,
                  },
                ]}
              />
            </Panel>
          </div>
          <Panel title="Inputs at the partner, beside those that came back">
            {values.data === null ? (
              <Waiting of={values} />
            ) : (
              <Inputs rows={comparedInputs(trace.data, values.data)} more={trace.data.more.rows} />
            )}
          </Panel>
          <Panel title="Values that came back">
            {values.data === null ? (
              <Waiting of={values} />
            ) : (
              <Series values={values.data.values} query={query} more={values.data.more} />
            )}
          </Panel>
          <Panel title="What changed at the service, and when">
            {changes.data === null ? (
              <Waiting of={changes} />
            ) : (
              <Table<Change>
                name={`Changes of ${trace.data.partner_id}`}
                empty="No change is recorded."
                rows={changes.data.changes as Change[]}
                more={changes.data.more}
                columns={[
                  { name: 'When', of: ({ changed_at }) => momentWords(changed_at), kind: 'key' },
                  { name: 'Variable', of: ({ variable_name }) => variable_name },
                  { name: 'Direction', of: ({ direction }) => direction },
                  {
                    name: 'Period',
                    of: ({ period_year, period_month }) => periodWords(period_year, period_month),
                    kind: 'key',
                  },
                  { name: 'Kind', of: ({ kind }) => kind },
                  { name: 'Before', of: ({ before }) => before, kind: 'number', show: ({ before }) => before },
                  { name: 'After', of: ({ after }) => after, kind: 'number', show: ({ after }) => after },
                ]}
              />
            )}
          </Panel>
          <Panel title="Documents">
            {documents.data === null ? (
              <Waiting of={documents} />
            ) : (
              <Table
                name={`Documents of ${trace.data.partner_id}`}
                empty="No document names this hotel; pull.searches says which documents are kept."
                rows={documents.data.documents}
                more={documents.data.more}
                columns={[
                  { name: 'Search', of: ({ search }) => search, kind: 'key' },
                  { name: 'List', of: ({ list }) => list, kind: 'key' },
                  { name: 'Changed', of: ({ changed_at }) => momentWords(changed_at), kind: 'key' },
                  { name: 'Removed', of: ({ removed_at }) => momentWords(removed_at), kind: 'key' },
                  {
                    name: 'Document',
                    of: ({ document }) => exactText(document),
                    show: ({ document }) => <Content of={document} />,
                  },
                ]}
              />
            )}
          </Panel>
        </>
      )}
    </>
  )
}

function Content({ of }: { of: unknown }) {
  return (
    <details>
      <summary>show</summary>
      <pre dir="auto">{exactText(of, 2)}</pre>
    </details>
  )
}

function Standing({ trace }: { trace: Trace }) {
  const { rows, accepted, gone } = sumsOf(trace)
  const since = goneSince(trace)
  const property = trace.rows.find(({ stream }) => stream === 'properties')
  const name = property?.content.name
  const { company } = trace
  const foreign = foreignOf(trace)
  return (
    <Panel title="In short">
      <Facts
        of={[
          [
            'At the partner',
            <Name key="partner" of={typeof name === 'string' ? name : trace.partner_id} />,
            since === null ? trace.partner_id : `${trace.partner_id}, gone since ${momentWords(since)}`,
          ],
          [
            'At the service',
            company === null ? 'not mapped' : <Name key="service" of={company.name ?? company.company_id} />,
            company === null ? (
              'so nothing of it came back'
            ) : (
              <span key="id">
                {company.removed_at != null && `gone since ${momentWords(company.removed_at)} `}
                <code>{company.company_id}</code>
              </span>
            ),
          ],
          [
            'Rows accepted',
            `${grouped(accepted)} of ${grouped(rows)}`,
            <span key="rows">
              <a href={addressOf('rows', { state: 'rejected', hotel: trace.partner_id })}>its rejected rows</a>
              {gone > 0 && `; ${counted(gone, 'row')} gone at the partner; what the service took of them stays there`}
            </span>,
          ],
          [
            'Came back',
            company === null ? '–' : counted(company.calculators, 'calculator'),
            company === null ? undefined : searchedWords(company),
          ],
          [
            'Differences',
            grouped(differencesOf(trace)),
            `sent and shown otherwise${foreign === 0 ? '' : `; ${grouped(foreign)} more there that ${foreign === 1 ? 'was' : 'were'} never sent`}`,
          ],
        ]}
      />
    </Panel>
  )
}

const signs: Record<Happening['way'], [string, string]> = {
  sent: ['→', 'to the service'],
  came: ['←', 'came back'],
  here: ['·', 'here'],
}

function Timeline({ of }: { of: Happening[] }) {
  return (
    <ol class="timeline">
      {of.map((one) => (
        <li key={`${one.at} ${one.words}`}>
          <time dateTime={one.at}>{momentWords(one.at)}</time>
          <span title={signs[one.way][1]}>
            <span aria-hidden="true">{signs[one.way][0]}</span>
            <span class="skip">{signs[one.way][1]}</span>
          </span>
          <span dir="auto">
            {one.run === null ? one.words : <a href={addressOf('night', { run: one.run })}>{one.words}</a>}
          </span>
        </li>
      ))}
    </ol>
  )
}

/** What a hotel has more of than the page was given. */
function Older({ of: { more } }: { of: Trace }) {
  const older = [
    more.submissions > 0 ? counted(more.submissions, 'older request') : '',
    more.actions > 0 ? counted(more.actions, 'older action') : '',
  ].filter(Boolean)
  if (older.length === 0) return null
  return <p class="small">{older.join(' and ')}: nightferry trace shows them all.</p>
}

const tones: Record<string, string> = { 'the same': 'well', 'not looked at': 'none' }

/** @param more rows of the hotel that the page was not given. */
function Inputs({ rows, more }: { rows: Back[]; more: number }) {
  return (
    <Table<Back>
      more={more > 0}
      name="Inputs"
      empty="No input was read."
      rows={rows}
      columns={[
        { name: 'Period', of: ({ period }) => period, kind: 'key' },
        { name: 'Variable', of: ({ variable }) => variable },
        { name: 'At the partner', of: ({ input }) => input, kind: 'number', show: ({ input }) => input },
        { name: 'Row', of: ({ state }) => state },
        { name: 'Came back', of: ({ back }) => back, kind: 'number', show: ({ back }) => back },
        {
          name: 'Verdict',
          of: ({ verdict }) => verdict,
          show: ({ state, verdict }) => (
            <span class={`mark ${state === 'accepted' ? (tones[verdict] ?? 'needs') : 'none'}`}>{verdict}</span>
          ),
        },
      ]}
    />
  )
}

/** One variable by month, this year over the last, with the yearly values beside it. */
function Series({ values, query, more }: { values: Value[]; query: URLSearchParams; more: boolean }) {
  if (values.length === 0) return <p class="quiet">Nothing came back yet.</p>
  // Titles name the period, and a variable may be in several calculators of one.
  const groups = Map.groupBy(values, ({ direction, variable_id }) => `${direction} ${variable_id}`)
  const names: [string, string][] = [...groups].map(([key, [first]]) => [
    key,
    `${first?.variable_name ?? first?.variable_id} (${first?.direction})`,
  ])
  names.sort(([, a], [, b]) => a.localeCompare(b))
  const preferred = names.find(([, name]) => name.startsWith('Total'))?.[0] ?? names[0]?.[0] ?? ''
  const key = groups.has(query.get('series') ?? '') ? (query.get('series') ?? '') : preferred
  const series = groups.get(key) ?? []
  const years = [...new Set(series.map(({ period_year }) => period_year))].sort((a, b) => b - a)
  const year = Number(query.get('year')) || (years[0] ?? 0)
  const months = Array.from({ length: 12 }, (_none, index) => index + 1)
  const at = (of: number, month: number | null) => {
    const found = series.filter((one) => one.period_year === of && one.period_month === month)
    return found.length === 0 ? undefined : [...new Set(found.map(({ value }) => value))].join(' / ')
  }
  const words = (of: number, month: number | null) => {
    const stale = staleWords(series.filter((one) => one.period_year === of && one.period_month === month))
    return [at(of, month), stale && `(${stale})`].filter(Boolean).join(' ')
  }
  const line = (of: number) => months.map((month) => numberOf(at(of, month)))
  const periods = [...months, null]
  const yearly = years.toReversed().map((one): [number, string | undefined] => [one, at(one, null)])
  return (
    <>
      <div class="filters">
        <Choice label="Variable" value={key} of={names} onGive={(series) => goWith({ series })} />
        <Choice
          label="Year"
          value={String(year)}
          of={years.map((one) => [String(one), String(one)])}
          onGive={(text) => goWith({ year: text })}
        />
        {more && <span class="quiet">Only the newest 5,000 values are shown.</span>}
      </div>
      <div class="columns">
        <div>
          <Plot
            label={`${names.find(([one]) => one === key)?.[1]} by month, ${year} over ${year - 1}`}
            steps={months.map((month) => String(month))}
            lines={[
              { name: String(year - 1), values: line(year - 1), tone: 'bar-quiet' },
              { name: String(year), values: line(year), tone: 'bar' },
            ]}
          />
          <Yearly of={yearly} />
        </div>
        <Table
          name="Values by period"
          empty=""
          rows={periods}
          columns={[
            { name: 'Period', of: (month) => (month === null ? 'the year' : periodWords(year, month)), kind: 'key' },
            {
              name: String(year),
              of: (month) => words(year, month),
              kind: 'number',
              show: (month) => words(year, month),
            },
            {
              name: String(year - 1),
              of: (month) => words(year - 1, month),
              kind: 'number',
              show: (month) => words(year - 1, month),
            },
          ]}
        />
      </div>
    </>
  )
}

/** The yearly values, one bar below the other, each with its text. */
function Yearly({ of }: { of: [number, string | undefined][] }) {
  const highest = Math.max(...of.map(([, text]) => Math.abs(numberOf(text) ?? 0)))
  if (of.every(([, text]) => text === undefined)) return <p class="quiet">It has no yearly value.</p>
  return (
    <table class="yearly">
      <caption>By year</caption>
      <tbody>
        {of.map(([year, text]) => (
          <tr key={year}>
            <th scope="row">{year}</th>
            <td class="lane-cell">
              <i style={{ width: `${highest === 0 ? 0 : (100 * Math.abs(numberOf(text) ?? 0)) / highest}%` }} />
            </td>
            <td class="number">{text ?? 'none'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** For the picture alone: what stands in tables is the text. */
function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : null
}
