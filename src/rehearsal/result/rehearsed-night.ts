import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { Requires } from '../../db/ledger/requirements.ts'
import { type ListedRow, rowsInState } from '../../db/ledger/rows-in-state.ts'
import { waveSubmissions, wavesOf } from '../../db/runs/wave-reports.ts'
import type { RunReport } from '../../pipeline/report/report.ts'
import { countNewlyParked } from './newly-parked.ts'

type NamedRow = Pick<ListedRow, 'stream' | 'partner_id' | 'row_key' | 'content' | 'reason'>
/** A row that the mirror refused in the rehearsed run. */
export type RefusedThere = NamedRow & { code: string | null } & Ground
/** A row that Nightferry did not send, because it cannot be right. */
export type KeptHere = NamedRow

/** What a rehearsed night came to. */
export type RehearsedNight = {
  run_id: number
  verdict: RunReport['verdict']
  streams: Pick<
    RunReport['streams'][number],
    'stream' | 'sent' | 'confirmed' | 'inferred' | 'rejected' | 'unknown' | 'awaited' | 'invalid' | 'parked' | 'behind'
  >[]
  refused: RefusedThere[]
  /** There are older ones than those that are named. */
  refusedMore: boolean
  kept: KeptHere[]
  keptMore: boolean
  /** Rows that are parked after it and were not before. */
  newlyParked: number
  /** Inputs that were taken although the mirror has not seen their field type: the service may not know it. */
  unseenInputs: number
  requests: { kind: string; partition: string; rows: number; state: string; said: string | null }[]
  back: {
    pages: number
    companies: number
    calculators: number
    values: number
    added: number
    changed: number
    removed: number
  }
  forecast: NightForecast
  /** Our own part, in seconds as measured here: without the time in which requests were with the mirror. */
  ownSeconds: number
  held: RunReport['held']
  remarks: string[]
}

/**
 * Whether a rehearsed night leaves a row unsent, refused or of unknown fate. Rows that were parked before it, or that
 * were rejected and have not changed since, were told of by an earlier night and do not count. Pure.
 */
export function needsPerson({
  refused,
  kept,
  held,
  newlyParked,
  streams,
}: Pick<RehearsedNight, 'refused' | 'kept' | 'held' | 'newlyParked' | 'streams'>): boolean {
  const open = streams.reduce((sum, { unknown, awaited, behind }) => sum + unknown + awaited + behind, 0)
  return refused.length + kept.length + held.length + newlyParked + open > 0
}

/** So many tasks of earlier nights say how long one takes. */
const tasksLearnedFrom = 5_000

/** Tasks of earlier nights with what they carried; read before the rehearsal adds its own. */
export async function pastTasks(copy: Database): Promise<PastTask[]> {
  const { rows } = await sql<PastTask>`
    select kind, row_count as rows, extract(epoch from terminal_at - accepted_at)::float8 as seconds
    from submission where terminal_at >= accepted_at
    order by submission_id desc limit ${tasksLearnedFrom}`.execute(copy)
  return rows
}

/**
 * Reads from the copy what the rehearsed run came to.
 * @param limit rows that are named of each sort, the newest first.
 * @param knownFields field types that the mirror has seen.
 */
export async function readNight(
  copy: Database,
  {
    report,
    past,
    requires,
    limit,
    knownFields,
  }: {
    report: RunReport
    past: readonly PastTask[]
    requires: Requires
    limit: number
    knownFields: readonly string[]
  },
): Promise<RehearsedNight> {
  const own = new Set(report.submissions.map(({ submission_id }) => submission_id))
  const isOwn = ({ submission_id }: ListedRow) => submission_id !== null && own.has(submission_id)
  const refused = (await rowsInState(copy, 'rejected', { requires, limit: limit + 1 })).filter(isOwn)
  const invalid = await rowsInState(copy, 'invalid', { requires, limit: limit + 1 })
  const waves = wavesOf(await waveSubmissions(copy, report.run_id))
  const requests = waves.map(({ submissions }) =>
    submissions.map(({ kind, rows }): RehearsedRequest => ({ kind, rows })),
  )
  const searches = report.submissions.filter(({ rows }) => rows === 0).map(({ kind }) => ({ kind, rows: 0 }))
  const spans = waves.map(({ from, to }) => (to === null ? 0 : to.getTime() - from.getTime()))
  const named = ({ stream, partner_id, row_key, content, reason }: ListedRow) => ({
    stream,
    partner_id,
    row_key,
    content,
    reason,
  })
  const sum = (of: (search: RunReport['searches'][number]) => number) =>
    report.searches.reduce((all, one) => all + of(one), 0)
  return {
    run_id: report.run_id,
    verdict: report.verdict,
    streams: report.streams.map((one) => {
      const { stream, sent, confirmed, inferred, rejected, unknown, awaited, invalid, parked, behind } = one
      return { stream, sent, confirmed, inferred, rejected, unknown, awaited, invalid, parked, behind }
    }),
    refused: refused.slice(0, limit).map((row) => ({ ...named(row), code: row.code, ...groundOf(row.code) })),
    refusedMore: refused.length > limit,
    kept: invalid.slice(0, limit).map(named),
    keptMore: invalid.length > limit,
    newlyParked: await countNewlyParked(copy, requires),
    unseenInputs: await unseenInputs(copy, report.run_id, knownFields),
    requests: report.submissions.map(({ kind, partition, rows, state, refusal_reason, task_status }) => {
      return { kind, partition, rows, state: task_status ?? state, said: refusal_reason }
    }),
    back: {
      pages: sum(({ pages }) => pages),
      companies: sum(({ companies }) => companies),
      calculators: sum(({ calculators }) => calculators),
      values: sum(({ values }) => values),
      added: sum(({ added }) => added),
      changed: sum(({ changed }) => changed),
      removed: sum(({ removed }) => removed),
    },
    forecast: forecastNight([...requests, searches], past),
    ownSeconds: Math.max(0, report.duration_ms - spans.reduce((all, span) => all + span, 0)) / 1000,
    held: report.held,
    remarks: report.remarks,
  }
}

async function unseenInputs(copy: Database, runId: number, known: readonly string[]): Promise<number> {
  const { rows } = await sql<{ unseen: number }>`
    select count(*) as unseen
    from ledger row
    join submission on submission.submission_id = row.outcome_submission
    cross join lateral jsonb_object_keys(row.content -> 'inputs') field
    where submission.run_id = ${runId} and row.stream = 'calculator_inputs' and row.accepted_hash = row.desired_hash
      and not lower(field) = any(${known}::text[])`.execute(copy)
  return rows[0]?.unseen ?? 0
}

/** A task of an earlier night, as polls saw it: from the answer to its POST until it was seen to have ended. */
export type PastTask = { kind: string; rows: number; seconds: number }

/** What tasks of a kind have taken. */
type Pace = { baseSeconds: number; secondsPerRow: number; tasks: number }

/** A request of the rehearsed night. */
type RehearsedRequest = { kind: string; rows: number }

/** How long the service would take over a rehearsed night, in seconds. */
type NightForecast = {
  /** If the requests of a wave are worked on side by side, and if one after the other. */
  sideBySide: number
  oneByOne: number
  /** Requests of kinds of which no task is known; they count for nothing above. */
  unknownKinds: string[]
  /** How many earlier tasks this is learned from. */
  tasks: number
}

/** Fewer say nothing of how the time grows with the rows. */
const fewestForSlope = 8

/** How long tasks of each kind take, by least squares over their rows; where that makes no sense, the median. Pure. */
function pacesOf(past: readonly PastTask[]): Map<string, Pace> {
  const byKind = Map.groupBy(past, ({ kind }) => kind)
  return new Map([...byKind].map(([kind, tasks]) => [kind, paceOf(tasks)]))
}

function paceOf(tasks: readonly PastTask[]): Pace {
  const count = tasks.length
  const mean = (of: (task: PastTask) => number) => tasks.reduce((sum, task) => sum + of(task), 0) / count
  const [rows, seconds] = [mean((task) => task.rows), mean((task) => task.seconds)]
  const spread = tasks.reduce((sum, task) => sum + (task.rows - rows) ** 2, 0)
  const joint = tasks.reduce((sum, task) => sum + (task.rows - rows) * (task.seconds - seconds), 0)
  const slope = spread === 0 || count < fewestForSlope ? 0 : joint / spread
  const base = seconds - slope * rows
  if (slope <= 0 || base < 0) {
    const ordered = tasks.map((task) => task.seconds).toSorted((one, other) => one - other)
    return { baseSeconds: ordered[Math.floor(count / 2)] ?? 0, secondsPerRow: 0, tasks: count }
  }
  return { baseSeconds: base, secondsPerRow: slope, tasks: count }
}

/**
 * How long the service would take over a night, learned from what it took in earlier ones. Pure.
 * @param waves requests that wait for each other's ends, wave after wave; searches are the last of them.
 */
export function forecastNight(
  waves: readonly (readonly RehearsedRequest[])[],
  past: readonly PastTask[],
): NightForecast {
  const paces = pacesOf(past)
  const secondsOf = ({ kind, rows }: RehearsedRequest) => {
    const pace = paces.get(kind)
    return pace === undefined ? 0 : pace.baseSeconds + pace.secondsPerRow * rows
  }
  const kinds = [...new Set(waves.flat().map(({ kind }) => kind))]
  return {
    sideBySide: waves.reduce((sum, wave) => sum + Math.max(0, ...wave.map(secondsOf)), 0),
    oneByOne: waves.flat().reduce((sum, request) => sum + secondsOf(request), 0),
    unknownKinds: kinds.filter((kind) => !paces.has(kind)),
    tasks: kinds.reduce((sum, kind) => sum + (paces.get(kind)?.tasks ?? 0), 0),
  }
}

/** Whether the specification says that the service refuses such a row, or we only think so. */
type Ground = {
  ground: 'stated' | 'assumed'
  /** Where it is stated, or why it is thought. */
  why: string
  /** What would make the service take the row all the same; null: nothing that is known. */
  unless: string | null
}

const items =
  'Errors: an item that names nothing, what the profile cannot access, or a value outside an allowed list fails by itself'
const stated = (why: string, unless: string | null = null): Ground => ({ ground: 'stated', why, unless })
const assumed = (why: string): Ground => ({ ground: 'assumed', why, unless: null })

/** By the code under which the mirror refuses a row. */
const grounds: Readonly<Record<string, Ground>> = {
  NotFound: stated(items, 'it knows a company that the key cannot see yet: the mirror holds those that it can'),
  company_not_found: stated(items, 'the company came within reach of the profile after the mirror was taken'),
  company_not_accessible: stated(items, 'the profile may use the company by now, or the group holds it'),
  data_point_not_found: stated(items),
  question_not_found: stated(items),
  framework_not_found: stated(items),
  standard_not_found: stated(items),
  field_type_not_found: stated(`${items}; Calculator upsert request: each input names its field type`),
  option_not_found: stated(items),
  level_not_found: stated(`${items}; that levels are such a list is assumed`),
  unit_not_allowed: stated(`${items}; Framework answers upsert request: units are listed in the framework`),
  custom_property_not_accessible: stated('Authentication 3: a custom property that the profile cannot use'),
  custom_property_not_usable: stated('Framework answers upsert request: a String property names the company'),
  value_type_mismatch: stated('Framework answers upsert request: answers are typed'),
  company_ambiguous: assumed('one id names several companies; what becomes of that is not shown'),
  period_type_not_allowed: assumed(
    'a data point says for which periods it is reported; that another fails is not said',
  ),
  unit_missing: assumed('whether a quantity may leave its unit out is not shown'),
  value_blank: assumed('that a blank text is no answer is not said'),
  value_out_of_range: assumed('limits of numbers are not published'),
  value_not_numeric: assumed('that inputs and properties of type Number take decimal numbers only is not said'),
  value_negative: assumed('that an input is not below zero is not said'),
  date_invalid: assumed('dates are ISO dates by their name on the wire'),
  date_range_reversed: assumed('that a range ends after it begins is not said'),
  custom_property_is_identifier: assumed('that values of identifiers come from mappings only is not said'),
  year_invalid: assumed('which years are taken is not said'),
  month_invalid: assumed('months are names, as on the pages'),
  period_type_unknown: stated('Framework answers upsert request: a period is Yearly or Monthly'),
  text_not_storable: assumed('which characters a text may hold is not said'),
  month_missing: stated('Framework answers upsert request: a Monthly period is one month'),
}

/** Why the mirror refused a row. A code that nobody has judged is assumed. Pure. */
export function groundOf(code: string | null): Ground {
  return grounds[code ?? ''] ?? assumed('the sandbox refuses it, and the specification does not name the case')
}
