import type { ListHotelValuesData } from './api-types.ts'
import { counted, grouped, momentWords, periodWords } from './words.ts'

/** What `GET /v1/hotels/{hotel}` answers, as far as the console reads it. */
export type Trace = {
  partner_id: string
  streams: {
    stream: string
    rows: number
    accepted: number
    gone: number
    first_seen_at: string
    read_at: string | null
    read_by_run: number | null
  }[]
  company: {
    company_id: string
    name: string | null
    mapped_at: string
    mapped_by_submission: number
    changed_at: string | null
    /** Since when the service no longer has it. */
    removed_at: string | null
    calculators: number
    /** Since when searches do not renew the company as a whole, and why. */
    not_renewed_since: string | null
    not_renewed_reason: string | null
    /** Of the calculators, those that by themselves are not renewed. */
    unrenewed_calculators: number
    searched_at: string | null
    newest_calculator_change: string | null
  } | null
  /** Why nothing of it is sent; with `resumed_at` only until the next run. */
  suspended: {
    by: 'hotel' | 'pilot'
    reason: string
    suspended_by: string
    suspended_at: string
    resumed_by: string | null
    resumed_at: string | null
  } | null
  rows: {
    stream: string
    row_key: string
    content: Record<string, unknown>
    state: string
    code: string | null
    reason: string | null
    changed_at: string
    /** Since when the partner has it no longer. */
    gone_at: string | null
  }[]
  submissions: {
    submission_id: number
    run_id: number
    kind: string
    state: string
    task_status: string | null
    /** The name of the destination that it went to; null: the one in use. */
    destination: string | null
    rows: number
    confirmed: number
    inferred: number
    rejected: number
    unknown: number
    attempted_at: string | null
    settled_at: string | null
  }[]
  /** Of inputs; those that were never sent come last. */
  differences: { kind: string }[]
  row_differences: unknown[]
  more: { rows: number; submissions: number; differences: number; row_differences: number; actions: number }
  actions: { verb: string; acted_by: string; acted_at: string; result: string | null }[]
}

/** How many rows the partner has of a hotel, how many of them are accepted, and how many it has no longer. Pure. */
export function sumsOf({ streams }: Pick<Trace, 'streams'>): { rows: number; accepted: number; gone: number } {
  const sum = (of: 'rows' | 'accepted' | 'gone') => streams.reduce((all, stream) => all + stream[of], 0)
  return { rows: sum('rows'), accepted: sum('accepted'), gone: sum('gone') }
}

/** Since when the partner has no row of a hotel any more; null while it has one. Pure. */
export function goneSince(trace: Pick<Trace, 'streams' | 'rows'>): string | null {
  if (sumsOf(trace).rows > 0) return null
  return (
    trace.rows
      .flatMap(({ gone_at }) => gone_at ?? [])
      .sort()
      .at(-1) ?? null
  )
}

/** What it means that every row is accepted or gone. Pure. */
export function nothingOpenWords(trace: Pick<Trace, 'streams'>): string {
  const { rows, gone } = sumsOf(trace)
  const goneWords = `${counted(gone, 'row')} ${gone === 1 ? 'is' : 'are'} gone`
  if (rows === 0) return `The partner has no row of this hotel any more; ${goneWords}.`
  return gone === 0
    ? 'Every row of this hotel is accepted.'
    : `Every row that the partner still has is accepted; ${goneWords}.`
}

/** How many of the differences of inputs are of values that were never sent; of those that were not given, too. */
export function foreignOf({ differences, more }: Pick<Trace, 'differences' | 'more'>): number {
  const foreign = differences.filter(({ kind }) => kind === 'foreign').length
  return foreign === 0 ? 0 : foreign + more.differences
}

/** How much of a hotel is at the service otherwise than it was sent, or not at all. Pure. */
export function differencesOf(trace: Trace): number {
  const { differences, row_differences, more } = trace
  return differences.length + more.differences - foreignOf(trace) + row_differences.length + more.row_differences
}

/** Something that happened to a hotel, on its way to the service, back, or here. */
export type Happening = { at: string; way: 'sent' | 'came' | 'here'; words: string; run: number | null }

/** How a request ended. Only of a settled one its task says so: of others that stays as it was last seen. */
function endOf(one: Trace['submissions'][number], request: string): Pick<Happening, 'way' | 'words'> {
  const taken = one.confirmed + one.inferred
  const counts: [number, string][] = [
    [taken, 'accepted'],
    [one.rejected, 'rejected'],
    [one.unknown, 'unknown'],
  ]
  const told = counts.filter(([rows, what]) => rows > 0 || (what === 'accepted' && one.state === 'settled'))
  const outcome = told.length === 0 ? '' : `: ${told.map(([rows, what]) => `${rows} ${what}`).join(', ')}`
  if (one.state === 'abandoned') return { way: 'here', words: `${request} was given up${outcome}` }
  if (one.state === 'lost')
    return { way: 'came', words: `the service no longer knows the task of ${request}${outcome}` }
  if (one.state === 'refused') return { way: 'came', words: `${request} was refused${outcome}` }
  return { way: 'came', words: `${request} ended in ${one.task_status ?? 'nothing'}${outcome}` }
}

/** All that is known to have happened to a hotel, the newest first. Pure. */
export function happeningsOf(trace: Trace): Happening[] {
  const { company } = trace
  const first = trace.streams.map(({ first_seen_at }) => first_seen_at).sort()[0]
  const read = trace.streams
    .filter(({ read_at }) => read_at !== null)
    .sort((a, b) => String(b.read_at).localeCompare(String(a.read_at)))[0]
  const happenings: Happening[] = [
    ...(first === undefined
      ? []
      : [{ at: first, way: 'here' as const, words: 'first read from the partner', run: null }]),
    ...(read?.read_at == null
      ? []
      : [{ at: read.read_at, way: 'here' as const, words: 'last read from the partner', run: read.read_by_run }]),
    ...trace.submissions.flatMap((one): Happening[] => {
      const request = `request ${one.submission_id}${one.destination === null ? '' : ` to ${one.destination}`}`
      const what = `${counted(one.rows, 'row')} in ${request} (${one.kind})`
      return [
        ...(one.attempted_at === null
          ? []
          : [{ at: one.attempted_at, way: 'sent' as const, words: what, run: one.run_id }]),
        ...(one.settled_at === null ? [] : [{ at: one.settled_at, run: one.run_id, ...endOf(one, request) }]),
      ]
    }),
    ...(company === null
      ? []
      : [
          {
            at: company.mapped_at,
            way: 'came' as const,
            words: `the service knows it as ${company.name ?? company.company_id}`,
            run: null,
          },
        ]),
    ...(company?.removed_at == null
      ? []
      : [{ at: company.removed_at, way: 'came' as const, words: 'the service no longer has its company', run: null }]),
    ...(company?.newest_calculator_change == null
      ? []
      : [
          {
            at: company.newest_calculator_change,
            way: 'came' as const,
            words: 'the newest change of its calculators',
            run: null,
          },
        ]),
    ...(company?.searched_at == null
      ? []
      : [{ at: company.searched_at, way: 'came' as const, words: 'the last search ended', run: null }]),
    ...trace.actions.map(
      (one): Happening => ({
        at: one.acted_at,
        way: 'here',
        words: `${one.verb} by ${one.acted_by}${one.result === null ? '' : `: ${one.result}`}`,
        run: null,
      }),
    ),
  ]
  return happenings.sort((a, b) => b.at.localeCompare(a.at))
}

/** An input as it is at the partner, beside what came back. */
export type Back = {
  period: string
  variable: string
  input: string
  /** Of its row: nobody knows what the service has of one that is not accepted. */
  state: string
  back: string
  verdict: string
}

type Values = Pick<ListHotelValuesData, 'values' | 'more'>
type Value = Values['values'][number]

/** Where a period stands among those of the values, whose newest come first: a year before its months. */
function rankOf(year: number, month: number | null): number {
  return year * 100 + (month ?? 13)
}

/**
 * Each input beside the value that the service shows for the same period. One that was sent blank is left out of what
 * the service shows. What came back is judged of accepted rows alone: nobody knows what the service has of another. Of
 * a hotel with more values than were given, nothing is said of the periods beyond them; nor of a value that the last
 * searches did not show. Pure.
 */
export function comparedInputs(trace: Trace, { values, more }: Values): Back[] {
  const last = values.at(-1)
  const seen = more && last !== undefined ? rankOf(last.period_year, last.period_month) : -1
  const shown = Map.groupBy(
    values.filter(({ direction }) => direction === 'input'),
    (one) => `${periodWords(one.period_year, one.period_month)} ${one.variable_id.toLowerCase()}`,
  )
  const rows = trace.rows.filter(
    ({ stream, state, content }) =>
      stream === 'calculator_inputs' && state !== 'gone' && typeof content.inputs === 'object',
  )
  const compared = rows.flatMap(({ state, content }) =>
    Object.entries(content.inputs as Record<string, string | null>).map(([id, given]): Back => {
      const period = periodWords(String(content.year), content.month as string | undefined)
      const found = shown.get(`${period} ${id.toLowerCase()}`) ?? []
      const input = String(given ?? '').trim()
      const month = content.month === undefined || content.month === null ? null : Number(content.month)
      const isBeyond = rankOf(Number(content.year), month) <= seen
      const back = [...new Set(found.map(({ value }) => value))].join(' / ')
      return {
        period,
        variable: found[0]?.variable_name ?? id,
        input,
        state,
        back,
        verdict: isBeyond && found.length === 0 ? 'not looked at' : judgedOf(state, input, back, found),
      }
    }),
  )
  return compared.sort((a, b) => b.period.localeCompare(a.period) || a.variable.localeCompare(b.variable))
}

/** That no value was shown by the last searches, and since when; null: one was. Pure. */
export function staleWords(found: readonly Pick<Value, 'not_renewed_since'>[]): string | null {
  const moments = found.flatMap(({ not_renewed_since }) => not_renewed_since ?? [])
  if (found.length === 0 || moments.length < found.length) return null
  return `not shown since ${momentWords(moments.sort().at(-1))}`
}

function judgedOf(state: string, input: string, back: string, found: readonly Value[]): string {
  if (state !== 'accepted') return found.length === 0 ? 'not there' : 'not accepted'
  return staleWords(found) ?? judged(input, back, found.length)
}

function judged(sent: string, back: string, found: number): string {
  if (found === 0) return sent === '' ? 'the same' : 'not there'
  if (sent === back) return 'the same'
  const number = numberOf(sent)
  return number !== null && number === numberOf(back) ? 'the same number' : 'different'
}

/** A decimal in the one way that leaves out what does not count, with every other digit; null: the text is no number. */
function numberOf(text: string): string | null {
  const [, sign, whole = '', part = '', power = '0'] = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim()) ?? []
  if (whole + part === '') return null
  const digits = (whole + part).replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  if (kept === '') return '0'
  return `${sign === '-' ? '-' : ''}${kept}e${Number(power) - part.length + digits.length - kept.length}`
}

/** When searches last showed what came back, and what of it they show no longer. */
export function searchedWords(company: NonNullable<Trace['company']>): string | undefined {
  const { searched_at: searched, not_renewed_since: since, not_renewed_reason: reason } = company
  const words = [
    ...(searched === null ? [] : [`searched ${momentWords(searched)}`]),
    ...(since !== null
      ? [`its company is not renewed since ${momentWords(since)} (${reason})`]
      : company.unrenewed_calculators > 0
        ? [`${grouped(company.unrenewed_calculators)} of them not renewed`]
        : []),
  ]
  return words.length === 0 ? undefined : words.join('; ')
}
