import { useRef, useState } from 'preact/hooks'
import { goWith } from '../address.ts'
import { useAnswer } from '../answer.ts'
import type { GetVariableData, ListVariablesData } from '../api-types.ts'
import { get } from '../client.ts'
import type { PageProps } from '../main.tsx'
import { Choice, Facts, Head, HotelLink, Name, Panel, Table, Waiting } from '../parts.tsx'
import { grouped, momentWords, periodWords } from '../words.ts'

type Extreme = GetVariableData['highest_hotels'][number]

export function Values({ query }: PageProps) {
  const list = useAnswer('variables', () => get<ListVariablesData>('/v1/variables', { limit: 500 }), 60_000)
  const variables = list.data?.variables ?? []
  const chosen =
    query.get('variable') ??
    variables.find(({ name }) => name?.startsWith('Total'))?.variable_id ??
    variables[0]?.variable_id ??
    ''
  const direction = query.get('direction') === 'input' ? 'input' : 'output'
  const [newest] = list.data?.periods ?? []
  const yearly = list.data?.periods.find(({ month }) => month === null)
  const [year = '', month = ''] = (query.get('period') ?? periodKey(yearly ?? newest)).split('-')
  const asked = chosen === '' || year === '' ? null : `variable ${chosen} ${direction} ${year} ${month}`
  const known = useAnswer(
    asked,
    () => get<GetVariableData>(`/v1/variables/${encodeURIComponent(chosen)}`, { direction, year, month, limit: 20 }),
    60_000,
  )
  const periods = (list.data?.periods ?? []).map((one): [string, string] => [
    periodKey(one),
    periodWords(one.year, one.month),
  ])
  return (
    <>
      <Head title="Values" of={asked === null ? list : known} />
      <div class="filters">
        <Choice
          label="Variable"
          value={chosen}
          of={variables.map(({ variable_id, name }) => [variable_id, name ?? variable_id])}
          onGive={(variable) => goWith({ variable })}
        />
        <Choice
          label="Direction"
          value={direction}
          of={[
            ['output', 'output: computed by the service'],
            ['input', 'input: fed to it'],
          ]}
          onGive={(text) => goWith({ direction: text })}
        />
        <Choice
          label="Period"
          value={month === '' ? year : `${year}-${month}`}
          of={periods}
          onGive={(period) => goWith({ period })}
        />
      </div>
      {list.data?.more_periods === true && (
        <p class="quiet">Only the newest {grouped(periods.length)} periods can be chosen here.</p>
      )}
      {list.data?.more === true && (
        <p class="quiet">Only the first {grouped(variables.length)} variables by name can be chosen here.</p>
      )}
      {list.data !== null && variables.length === 0 && (
        <p class="quiet">No page was loaded yet, so no variable is known.</p>
      )}
      {asked === null ? (
        list.data === null && <Waiting of={list} />
      ) : known.data === null ? (
        <Waiting of={known} />
      ) : (
        <Shown of={known.data} direction={direction} />
      )}
    </>
  )
}

function periodKey(period: { year: number; month: number | null } | undefined): string {
  if (period === undefined) return ''
  return period.month === null ? String(period.year) : `${period.year}-${period.month}`
}

function Shown({ of, direction }: { of: GetVariableData; direction: 'input' | 'output' }) {
  if (of.values === 0)
    return (
      <p class="quiet">No hotel has a value of it in this period. Choose the other direction, or another period.</p>
    )
  return (
    <>
      <Panel
        title="All hotels"
        aside={<span class="small quiet">computed {momentWords(of.as_of)}; computed again after five minutes</span>}
      >
        <Facts
          of={[
            [
              'Values',
              grouped(of.values),
              `of ${grouped(of.hotels)} hotels${of.texts > 0 ? `; ${grouped(of.texts)} are no number` : ''}${differing(of)}`,
            ],
            ['Missing', grouped(of.missing), 'mapped hotels without one'],
            ['Lowest', of.lowest ?? '–'],
            ['A quarter is at most', of.quarter ?? '–'],
            ['Half is at most', of.median ?? '–'],
            ['Three quarters are at most', of.three_quarters ?? '–'],
            ['Highest', of.highest ?? '–'],
            ['Sum', of.sum ?? '–', direction === 'input' ? 'a hotel’s input counts once' : 'of every calculator'],
            [
              'Against the year before',
              of.both_sum === null || of.both_before === null ? '–' : changeWords(of.both_sum, of.both_before),
              of.both_hotels === 0
                ? 'no hotel has both'
                : `${grouped(of.both_hotels)} hotels with both: ${of.both_sum}, and ${of.both_before} before`,
            ],
          ]}
        />
      </Panel>
      {of.bars.length > 0 && (
        <Panel title="Distribution">
          <Distribution bars={of.bars} />
        </Panel>
      )}
      <div class="columns">
        <Panel title="Highest">
          <Extremes name="Highest values" rows={of.highest_hotels} />
        </Panel>
        <Panel title="Lowest">
          <Extremes name="Lowest values" rows={of.lowest_hotels} />
        </Panel>
        <Panel title={`Missing, of ${grouped(of.missing)} the first`}>
          <Table
            name="Hotels without a value"
            empty="Every mapped hotel has a value."
            rows={of.missing_hotels}
            columns={[{ name: 'Hotel', of: (id) => id, show: (id) => <HotelLink id={id} /> }]}
          />
        </Panel>
      </div>
      <Panel title="The query behind it">
        <Query sql={of.sql} />
      </Panel>
    </>
  )
}

/** The clipboard is there on loopback and behind TLS alone; elsewhere the text is selected. */
function Query({ sql }: { sql: string }) {
  const text = useRef<HTMLPreElement>(null)
  const [said, setSaid] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(sql)
      setSaid('Copied.')
    } catch {
      if (text.current !== null) getSelection()?.selectAllChildren(text.current)
      setSaid('The browser does not let this page copy. The text is selected: press Ctrl+C.')
    }
  }
  return (
    <>
      <pre ref={text}>{sql}</pre>
      <p class="row taken">
        <button type="button" class="small" onClick={() => void copy()}>
          Copy
        </button>
        <span role="status" class="small quiet">
          {said}
        </span>
      </p>
    </>
  )
}

function differing({ differing: hotels }: GetVariableData): string {
  if (hotels === 0) return ''
  return `; ${grouped(hotels)} in no figure, because the hotel’s calculators hold different ones`
}

function changeWords(now: string, before: string): string {
  const share = (Number(now) / Number(before) - 1) * 100
  if (!Number.isFinite(share)) return '–'
  return `${share > 0 ? '+' : '−'}${Math.abs(share).toFixed(1)} %`
}

function Extremes({ name, rows }: { name: string; rows: Extreme[] }) {
  return (
    <Table<Extreme>
      name={name}
      empty="No value is a number."
      rows={rows}
      columns={[
        {
          name: 'Hotel',
          of: ({ partner_id, company_id }) => partner_id ?? company_id,
          show: ({ partner_id, company_id }) => <HotelLink id={partner_id ?? company_id} />,
          kind: 'key',
        },
        {
          name: 'Name',
          of: ({ company_name }) => company_name,
          show: ({ company_name }) => <Name of={company_name} />,
        },
        { name: 'Value', of: ({ value }) => value, kind: 'number', show: ({ value }) => value },
        { name: 'The year before', of: ({ before }) => before, kind: 'number', show: ({ before }) => before },
      ]}
    />
  )
}

function Distribution({ bars }: { bars: GetVariableData['bars'] }) {
  const most = Math.max(...bars.map(({ values }) => values))
  return (
    <figure>
      <div
        class="bars"
        role="img"
        aria-label={`${bars.length} bars from ${bars[0]?.from} to ${bars.at(-1)?.to}; the highest holds ${most} values`}
      >
        {bars.map(({ from, to, values }) => (
          <i
            key={from}
            title={`${from} to ${to}: ${grouped(values)}`}
            style={{ height: `${(100 * values) / most}%` }}
          />
        ))}
      </div>
      <figcaption class="row small quiet ends">
        <span>{bars[0]?.from}</span>
        <span>the highest bar: {grouped(most)} values</span>
        <span>{bars.at(-1)?.to}</span>
      </figcaption>
    </figure>
  )
}
