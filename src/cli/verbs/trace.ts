import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { hotelsOf, type PartnerTrace, type TracedCompany, tracePartner } from '../../db/trace/trace-partner.ts'
import type { TracedSubmission } from '../../db/trace/trace-rows.ts'
import type { Contract } from '../../exchange/contract.ts'
import { uuidOf } from '../../exchange/wire-value.ts'
import { type CodesBehind, codesBehind } from '../../pipeline/delta/lookups/codes-behind.ts'
import { readLookups } from '../../pipeline/delta/lookups/read-lookup.ts'
import { StopRun } from '../../pipeline/deps.ts'
import { resendPolicies } from '../../pipeline/preflight/judgements.ts'
import { unmatchedWords } from '../../pipeline/report/report.ts'
import { shapeOf } from '../../pipeline/streams/our-streams.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, UsageError } from '../cli.ts'
import { readContract } from '../read-config.ts'
import { moment, readable, shortened } from '../show/readable.ts'
import {
  differenceRow,
  differenceWords,
  type GroupedRow,
  headlines,
  policyWords,
  type RowGroup,
  rowGroups,
  unrenewedWords,
} from '../show/row-words.ts'
import { table } from '../show/table.ts'
import { nobodyLike, nobodyMapped, withDatabase } from '../with-database.ts'

/**
 * `nightferry trace <hotel>`: one hotel, from the partner's database to the calculators that came back. It is named by
 * the partner's id, or by that of the company which it is mapped to.
 * @throws {UsageError} when nothing was ever read of such a hotel; exit code 2, as with everything misnamed.
 */
export async function trace(cli: Cli, hotel: string, options: CommonOptions): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }, config) => {
    const contract = readContract(cli, config)
    const policies = resendPolicies(config, contract)
    const traced = (id: string) => tracePartner(db, id, requirementsOf(config), policies)
    const found = (await traced(hotel)) ?? (await traced(await hotelOfCompany(db, hotel)))
    if (found === null) throw await nobodyLike(db, hotel)
    const groups = rowGroups(found.rows)
    const codes = await codesOf(config, contract, found)
    if (options.json) {
      const { partner_id, streams, company, suspended, submissions, differences, row_differences, actions } = found
      const lists = { rows: groups, codes: codes.found, submissions, differences, row_differences, actions }
      printJson(cli.stdout, { partner_id, in_short: headlines(found, groups), streams, company, suspended, ...lists })
    } else cli.stdout.write(renderTrace(found, groups, codes))
    return exitCodes.well
  })
}

type Codes = { found: CodesBehind[]; unusable: string | null }

/** What the partner calls what its rows name by ids. A lookup that cannot be read now keeps nobody from the rest. */
async function codesOf(config: Config, contract: Contract, { partner_id, rows }: PartnerTrace): Promise<Codes> {
  try {
    const lookups = await readLookups(config, Object.keys(config.streams))
    const idColumnOf = (stream: string) => shapeOf(contract, stream).idColumn
    return { found: codesBehind(partner_id, rows, lookups, idColumnOf), unusable: null }
  } catch (error) {
    if (!(error instanceof StopRun)) throw error
    return { found: [], unusable: error.message }
  }
}

/**
 * The hotel that is mapped to a company; what is no id of a company stays as it is.
 * @throws {UsageError} when no hotel is mapped to it, or several are.
 */
async function hotelOfCompany(db: Database, text: string): Promise<string> {
  const companyId = uuidOf(text.trim())
  if (companyId === null) return text
  const hotels = await hotelsOf(db, companyId)
  const [only] = hotels
  if (only === undefined) throw await nobodyMapped(db, companyId, text)
  if (hotels.length === 1) return only
  throw new UsageError(
    `${hotels.length} hotels are mapped to the company ${companyId}: ${hotels.join(', ')}. Trace one of them.`,
  )
}

/** Rows of a group, and changes, that are shown; the JSON has all of them. */
const shownOfGroup = 4
const shownChanges = 12
const shownDifferences = 12
const shownCodes = 30

/** One hotel's story, to be read from top to bottom. Times are UTC. */
function renderTrace(trace: PartnerTrace, groups: readonly RowGroup[], codes: Codes): string {
  const parts = [
    [title(trace), ...headlines(trace, groups).map((line) => `  ${readable(line)}`)].join('\n'),
    whatThePartnerHas(trace),
    whatItIsCalledThere(codes),
    whatChanged(groups),
    atTheService(trace, groups),
    whatBecameOfIt(groups),
    howItTravelled(trace),
    whatCameBack(trace),
    whatDiffers(trace),
    whatPeopleDid(trace),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function title({ partner_id, rows }: PartnerTrace): string {
  const name = rows.find(({ stream }) => stream === 'properties')?.content.name
  return readable(`Hotel ${partner_id}${typeof name === 'string' ? ` · ${name}` : ''}`)
}

function whatThePartnerHas({ streams }: PartnerTrace): string {
  return `What the partner's database has (times are UTC)\n${table(
    ['stream', 'rows', 'accepted', 'gone', 'first seen', 'last changed', 'last read', 'by run'],
    streams.map((s) => [
      s.stream,
      s.rows,
      s.accepted,
      s.gone,
      moment(s.first_seen_at),
      moment(s.changed_at),
      moment(s.read_at),
      s.read_by_run,
    ]),
  )}`
}

function whatItIsCalledThere({ found, unusable }: Codes): string {
  if (unusable !== null) return `Its codes\n  not known: ${readable(unusable)}`
  if (found.length === 0) return ''
  return `Its codes, by the lookups as they are now\n${table(
    ['stream', 'column', 'code', 'stands for', 'lookup'],
    found
      .slice(0, shownCodes)
      .map(({ stream, column, codes, id, lookup, file }) => [
        stream,
        column,
        codes.join(', '),
        id,
        `${lookup} (${file})`,
      ]),
  )}${found.length > shownCodes ? `\n  … and ${found.length - shownCodes} more` : ''}`
}

function whatChanged(groups: readonly RowGroup[]): string {
  const changes = groups
    .flatMap(({ stream, rows }) =>
      rows.flatMap((row) =>
        row.changes.map(({ at, differences }) => ({
          at: new Date(at),
          stream,
          words: about(stream, row),
          differences,
        })),
      ),
    )
    .toSorted((a, b) => a.at.getTime() - b.at.getTime())
  if (changes.length === 0) return ''
  const shown = changes.slice(-shownChanges)
  const lines = shown.map(({ at, stream, words, differences }) =>
    readable(`  ${moment(at)}  ${stream}${words}  ${differences.map(differenceWords).join(', ')}`),
  )
  const more = changes.length > shown.length ? [`  … and ${changes.length - shown.length} earlier`] : []
  return ['What changed there since it was first read', ...more, ...lines].join('\n')
}

/** Which row, where a hotel has several of the stream. */
function about(stream: string, row: GroupedRow): string {
  return stream === 'properties' || stream === 'calculator_settings' ? '' : `  ${shortened(row.words, 70)}`
}

function atTheService({ company }: PartnerTrace, groups: readonly RowGroup[]): string {
  const head = 'Its mapping'
  if (company !== null) {
    const name = company.name === null ? '' : ` (${company.name})`
    return `${head}\n${readable(`  company ${company.company_id}${name}, mapped ${moment(company.mapped_at)} by submission ${company.mapped_by_submission}`)}`
  }
  const property = groups.find(({ stream }) => stream === 'properties')
  const waits = groups.filter(({ state }) => state === 'parked').reduce((sum, { rows }) => sum + rows.length, 0)
  const why =
    property === undefined ? "the partner's database has delivered no properties row of it" : stateWords(property)
  const waiting = waits === 0 ? '' : `, and ${counted(waits, 'row')} ${waits === 1 ? 'waits' : 'wait'} for it`
  return `${head}\n${readable(`  none${waiting}: ${why}`)}`
}

function whatBecameOfIt(groups: readonly RowGroup[]): string {
  const blocks = groups.map((group) => {
    const shown = group.rows.slice(0, shownOfGroup)
    const more = group.rows.length - shown.length
    return [
      `  ${group.stream}, ${counted(group.rows.length, 'row')}: ${readable(stateWords(group))}`,
      ...shown.map((row) => `      ${shortened(row.words, 110)}`),
      ...(more > 0 ? [`      … and ${more} more`] : []),
    ].join('\n')
  })
  return `What became of each row\n${blocks.join('\n')}`
}

/** A group's state with its certainty, reason and time. */
function stateWords(group: RowGroup): string {
  const { state, outcome, submission_id } = group
  const said = [group.code, group.reason].filter((part) => part !== null).join(': ') || 'no reason given'
  const since = `since ${moment(group.since)}`
  const by = submission_id === null ? '' : ` (submission ${submission_id})`
  switch (state) {
    case 'gone': {
      const last =
        outcome === null ? 'nothing of it was ever answered by the service' : `its last outcome is ${outcome}${by}`
      return `gone in your database ${since}, nothing of it is sent; ${last}`
    }
    case 'held': {
      const what = group.guard_change === null ? 'with the whole run' : `as ${group.guard_change}`
      return `held by the guard, ${what}; nightferry approve ${group.held_run} lets it through`
    }
    case 'accepted': {
      const missing =
        group.guard_change === 'gone'
          ? `; missing in your database, which the guard holds: nightferry approve ${group.held_run} marks it gone`
          : ''
      const certainty = { confirmed: ', confirmed by a result file', inferred: ', inferred: no error names it' }
      const how = outcome === 'confirmed' || outcome === 'inferred' ? certainty[outcome] : ''
      return `accepted ${since}${by}${how}${missing}`
    }
    case 'in_flight':
      return `on the way in submission ${submission_id}`
    case 'invalid':
      return `invalid ${since}, never sent: ${group.reason}`
    case 'rejected': {
      const retry = group.retry_asked_by === null ? '' : ` (${group.retry_asked_by} asked for a retry in the next run)`
      const policy = policyWords(group)
      return `rejected by the service ${since}${by}${retry}: ${said}${policy === null ? '' : `; ${policy}`}`
    }
    case 'unknown':
      return `unknown ${since}${by}, the next run sends it again: ${said}`
    case 'parked':
      return `parked ${since}: ${group.reason}`
    case 'pending':
      return `pending ${since}; the next run sends it`
    case 'unconfigured': {
      const last = group.code === null && group.reason === null ? '' : `; what was said of it last${by}: ${said}`
      return `not accepted, and ${group.stream} is not in the configuration: no run reads or sends it${last}`
    }
    default:
      return state satisfies never
  }
}

function howItTravelled({ submissions }: PartnerTrace): string {
  if (submissions.length === 0) return 'How it travelled\n  Nothing of it was ever sent.'
  const travelled = table(
    ['submission', 'run', 'kind', 'state', 'task', 'correlation id', 'its rows', 'sent', 'ended', 'settled'],
    submissions.map((s) => [
      s.submission_id,
      s.run_id,
      s.kind,
      s.state,
      s.task_status,
      s.correlation_id,
      fates(s),
      moment(s.attempted_at),
      moment(s.terminal_at),
      moment(s.settled_at),
    ]),
  )
  const remarks = submissions.flatMap((s) =>
    remark(s).map((text) => readable(`  submission ${s.submission_id}: ${text}`)),
  )
  return ['How it travelled', travelled, ...remarks].join('\n')
}

function fates({ rows, confirmed, inferred, rejected, unknown }: TracedSubmission): string {
  const known: [number, string][] = [
    [confirmed, 'confirmed'],
    [inferred, 'inferred'],
    [rejected, 'rejected'],
    [unknown, 'unknown'],
  ]
  const open = rows - confirmed - inferred - rejected - unknown
  const parts = [...known, [open, 'without outcome'] as const].filter(([number]) => number > 0)
  return parts.map(([number, what]) => `${number} ${what}`).join(', ')
}

function remark(submission: TracedSubmission): string[] {
  const { error_code, error_message, repeats, attempts, parent_id, released_by, unmatched, unmatched_here } = submission
  const parts = []
  if (submission.destination !== null) parts.push(`went to ${submission.destination}, which is not in use`)
  if (released_by.length > 0) parts.push(`released by submission ${released_by.join(' and ')}`)
  if (parent_id !== null) parts.push(`a part of submission ${parent_id}, which was split`)
  if (error_code !== null) parts.push(`${error_code}: ${error_message ?? ''}`)
  if (repeats > 0) parts.push(`sent ${attempts} times, ${counted(repeats, 'time')} because the answer was lost`)
  for (const said of unmatched_here) parts.push(`the service said what matches no row of it: ${unmatchedWords(said)}`)
  if (unmatched > unmatched_here.length) {
    parts.push(`${unmatched - unmatched_here.length} more that the service said match no row of the request`)
  }
  return parts
}

function whatCameBack({ company }: PartnerTrace): string {
  return [
    'What came back',
    `  ${company === null ? 'Nothing: it is not mapped.' : readable(calculators(company))}`,
  ].join('\n')
}

function calculators(company: TracedCompany): string {
  const { searched_at: searched } = company
  const asOf = searched === null ? 'no search has been loaded whole yet' : `last search loaded ${moment(searched)}`
  if (company.changed_at === null) return `Nothing: no search has returned the company yet; ${asOf}.`
  const gone = company.removed_calculators > 0 ? `, ${company.removed_calculators} more are gone` : ''
  const tombstone =
    company.removed_at === null ? '' : ` The company itself is gone since ${moment(company.removed_at)}.`
  const unrenewed = unrenewedWords(company)
  const marked = unrenewed === null ? '' : `; ${unrenewed}`
  return `${counted(company.calculators, 'calculator')}, last changed ${moment(company.newest_calculator_change)}${gone}; ${asOf}${marked}.${tombstone}`
}

function whatDiffers({ differences, row_differences }: PartnerTrace): string {
  const unlike = differences.filter(({ kind }) => kind !== 'foreign')
  const foreign = differences.length - unlike.length
  if (differences.length + row_differences.length === 0) return ''
  const inputs = unlike.map((difference) => {
    const { period, input, what, sent, stored } = differenceRow(difference)
    return readable(`  ${period}  ${input}  sent ${sent ?? ''}, ${stored === null ? what : `stored ${stored}`}`)
  })
  const rows = row_differences.map(({ stream, row_key, kind, sent, stored }) =>
    readable(`  ${stream}  ${row_key}  sent ${sent ?? ''}, ${stored === null ? kind : `stored ${stored}`}`),
  )
  const all = [...inputs, ...rows]
  const lines = all.slice(0, shownDifferences)
  const more = all.length > shownDifferences ? [`  … and ${all.length - shownDifferences} more`] : []
  const others = foreign > 0 ? [`  ${counted(foreign, 'input')} there that we never sent`] : []
  return ['What was sent and came back otherwise', ...lines, ...more, ...others].join('\n')
}

function whatPeopleDid({ actions }: PartnerTrace): string {
  if (actions.length === 0) return ''
  const lines = actions.map(({ acted_at, acted_by, verb, submission_id, result }) =>
    readable(
      `  ${moment(acted_at)}  ${acted_by}: ${verb}${submission_id === null ? '' : ` submission ${submission_id}`} (${result ?? 'no answer'})`,
    ),
  )
  return ['What people did', ...lines].join('\n')
}
