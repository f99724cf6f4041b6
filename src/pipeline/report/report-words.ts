import { counted, grouped } from '../../counted.ts'
import type { RunElsewhere } from '../../db/runs/newest-runs.ts'
import type { SubmissionReport } from '../../db/runs/report-rows.ts'
import type { NameChange, SearchReport } from '../../db/runs/search-reports.ts'
import type { UnrenewedPart } from '../../db/tables/calculator-tables.ts'
import type { InputComparison, RepairHeldTable, RowComparison } from '../../db/tables/difference-tables.ts'
import type { LeftOutProperty } from '../../db/tables/submission-tables.ts'
import type { DocumentReport } from '../pull/documents/document-reports.ts'
import type { UnrenewedCount } from '../pull/removals/take-removals.ts'
import type { UnobtainableProperties } from '../pull/search/requested-properties.ts'
import { overdueCode } from '../push/move-submission.ts'

/** What a comparison found, in a line or two. Pure. */
export function comparisonLine(comparison: InputComparison): string {
  if (comparison.withheld !== null) {
    return `Not compared: ${comparison.withheld}. The differences known are those of an earlier run.`
  }
  const { inputs, absent, different, foreign_values, other_fields } = comparison
  const others = other_fields > 0 ? ` (and ${grouped(other_fields)} of fields that we never send)` : ''
  const found = `Of ${counted(inputs, 'input')} compared: ${grouped(absent)} sent and absent, ${grouped(different)} stored differently; ${grouped(foreign_values)} there that we never sent${others}`
  const rest: [number, string][] = [
    [comparison.written_differently, 'the same number, written differently'],
    [comparison.unjudged, 'not judged'],
    [comparison.unsettled, 'not compared, because their rows are pending, rejected, on the way or gone'],
    [comparison.left_out_companies, 'companies not compared, because a part of their page was left out'],
  ]
  const also = rest.filter(([amount]) => amount > 0).map(([amount, what]) => `${grouped(amount)} ${what}`)
  return [found, ...(also.length > 0 ? [also.join('; ')] : [])].join('\n')
}

/** Why the comparison makes a run partial: what the service accepted and does not show as it was sent. Pure. */
export function comparisonRemarks(comparison: InputComparison | null): string[] {
  if (comparison === null) return []
  const { absent, different, new: fresh } = comparison
  if (absent + different === 0) return []
  const found = [
    ...(absent > 0 ? [`${counted(absent, 'input')} sent and accepted, and absent`] : []),
    ...(different > 0 ? [`${counted(different, 'input')} accepted and stored differently`] : []),
  ].join('; ')
  const since =
    fresh === absent + different ? 'all new' : fresh === 0 ? 'all known before' : `${grouped(fresh)} of them new`
  return [`What came back is not what was sent: ${found} (${since}). nightferry differences lists them.`]
}

/** What is worth knowing of a comparison and needs nobody. Pure. */
export function comparisonNotices(comparison: InputComparison | null): string[] {
  if (comparison === null || comparison.foreign_values === 0) return []
  const { foreign_values, foreign_companies } = comparison
  return [
    `${counted(foreign_values, 'input')} of ${counted(foreign_companies, 'hotel')} at the service ${foreign_values === 1 ? 'was' : 'were'} never sent by us: nightferry differences --kind foreign lists ${foreign_values === 1 ? 'it' : 'them'}.`,
  ]
}

const comparedNouns: Record<string, string> = {
  inputs: 'calculator inputs',
  answers: 'answers and omissions',
  property_values: 'custom property values',
  standard_holders: 'standards held',
  mappings: 'mappings',
}

/** What the rows of a kind are called. */
export function comparedWords(kind: string): string {
  return comparedNouns[kind] ?? kind
}

/** Why comparisons make a run partial: what the service accepted and does not show as it was sent. Pure. */
export function rowComparisonRemarks(
  comparisons: readonly RowComparison[],
  held: readonly RepairHeldTable[],
): string[] {
  const differing = comparisons.filter(({ absent, different }) => absent + different > 0)
  return [
    ...differing.map(
      ({ kind, absent, different, new: fresh }) =>
        `Of the ${comparedWords(kind)} that the service accepted, ${grouped(absent)} ${absent === 1 ? 'is' : 'are'} absent and ${grouped(different)} stored differently (${grouped(fresh)} new): nightferry differences lists them.`,
    ),
    ...comparisons
      .filter(({ suspicious }) => suspicious)
      .map(({ kind, withheld }) => `The ${comparedWords(kind)} were not compared: ${withheld}.`),
    ...held.map(
      ({ stream, kind, rows }) =>
        `${grouped(rows)} rows of ${stream} are ${kind} at the service, more than the guard lets through at once, so they are not sent again by themselves: nightferry resend --stream ${stream} --difference ${kind} --beyond-guard sends them.`,
    ),
  ]
}

/** The tasks that the run did not wait for any longer, one sentence each, with the verb that helps. Pure. */
export function overdueRemarks(submissions: readonly SubmissionReport[]): string[] {
  return submissions
    .filter(({ overdue_since, settled_at }) => overdue_since !== null && settled_at === null)
    .map((submission) => {
      const { submission_id: id, rows, kind } = submission
      return (
        `Submission ${id} (${kind}) was not waited for any longer: ${overdueWords(submission)}. ` +
        `Its ${rows === 1 ? 'row stays' : `${grouped(rows)} rows stay`} with it and nothing overtakes ${rows === 1 ? 'it' : 'them'}; every run looks at it again. ` +
        `If it will never end: nightferry abandon ${id}.`
      )
    })
}

function overdueWords(submission: SubmissionReport): string {
  const { correlation_id, error_code, error_message } = submission
  const what = correlation_id === null ? 'a task that may be its' : `its task ${correlation_id}`
  const failing = submission.state === 'accepted' && error_code !== null && error_code !== overdueCode
  if (failing) return `nobody can say whether ${what} has ended (${error_message ?? error_code})`
  return `${what} has not ended${statusWords(submission)}`
}

function statusWords({ task_status, unknown_status }: SubmissionReport): string {
  if (task_status === null) return ''
  const strange = unknown_status === null ? '' : ', a status that config/contract.yaml does not name'
  return ` (${task_status}${strange})`
}

/** Searches that never ended: nothing was loaded, and the next run makes others. Pure. */
export function overdueSearchRemarks(
  searches: readonly Pick<SubmissionReport, 'submission_id' | 'kind' | 'error_code' | 'error_message'>[],
  code: string,
): string[] {
  return searches
    .filter(({ error_code }) => error_code === code)
    .map(
      ({ error_message }) =>
        `The calculator search brought nothing: ${error_message ?? code}. What is known stays as it was; the next run searches again.`,
    )
}

/** Names that changed which a report spells out; the view name_changes has all of them. */
const namesShown = 10

/** What a search brought that is worth knowing and needs nobody: a sentence per thing. Pure. */
export function searchNotices(searches: readonly SearchReport[], renamed: readonly NameChange[]): string[] {
  const notices = searches.flatMap(({ left_out_properties }) =>
    left_out_properties.length === 0
      ? []
      : [
          `The service left out ${counted(left_out_properties.length, 'custom property')} that the search asked for: ${left_out_properties.map(propertyWords).join('; ')}. Their values did not come: fix pull.customPropertyIds, or ask their owner.`,
        ],
  )
  const nouns = { variable: 'Variable', property: 'Custom property' }
  for (const { kind, id, before, after } of renamed.slice(0, namesShown)) {
    notices.push(`${nouns[kind]} ${id} is now called "${after}"; it was "${before}".`)
  }
  const more = renamed.length - namesShown
  if (more > 0) notices.push(`${more} more names changed; the view name_changes lists them.`)
  return notices
}

/** What of the configuration the service does not answer, as a person reads it between nights. Pure. */
export function missingPropertyLines(
  leftOut: readonly LeftOutProperty[],
  inRun: number | null,
  doubtful: readonly LeftOutProperty[],
): string[] {
  return [
    ...(leftOut.length === 0
      ? []
      : [
          `The service left out ${counted(leftOut.length, 'custom property')} that the search of run ${inRun ?? '?'} asked for: ${leftOut.map(propertyWords).join('; ')}.`,
        ]),
    ...(doubtful.length === 0
      ? []
      : [
          `The next search will not get ${counted(doubtful.length, 'custom property')} of pull.customPropertyIds: ${doubtful.map(propertyWords).join('; ')}.`,
        ]),
  ]
}

/**
 * Ids in the settings that the service lists nowhere or does not give this profile. The search for calculators says
 * itself what its pages left out. Pure.
 */
export function unobtainablePropertyNotices(unobtainable: readonly UnobtainableProperties[]): string[] {
  return unobtainable.flatMap(({ setting, ids, foreign }) => [
    ...(ids.length === 0
      ? []
      : [
          `${setting} names ${counted(ids.length, 'custom property')} that the service does not list for this key: ${ids.join(', ')}. Nothing comes back of ${ids.length === 1 ? 'it' : 'them'}: correct the setting.`,
        ]),
    ...(foreign.length === 0
      ? []
      : [
          `${setting} names ${counted(foreign.length, 'custom property')} that this profile does not own: ${foreign.map(propertyWords).join('; ')}. Nothing comes back of ${foreign.length === 1 ? 'it' : 'them'}, so values sent are not compared: correct the setting, or ask the owner.`,
        ]),
  ])
}

function propertyWords({ property_id, name, why, owner }: LeftOutProperty): string {
  const called = name === null || name === '' ? property_id : `"${name}" (${property_id})`
  if (why === 'not_owned') return `${called} belongs to ${owner ?? 'another profile'}`
  return why === 'unknown' ? `${called} is none that this key can see` : called
}

/** What is not simply well with the searches for documents, one sentence each. Pure. */
export function documentRemarks(searches: readonly DocumentReport[]): string[] {
  return searches.flatMap((search) => {
    const failure = failureOf(search)
    if (failure !== null) {
      return [`The search ${search.search} brought nothing: ${failure}. Its documents stand as they were.`]
    }
    const remarks = []
    if (search.failed_pages > 0) {
      remarks.push(
        `${counted(search.failed_pages, 'page')} of the search ${search.search} could not be loaded: ${search.first_error ?? ''}`,
      )
    }
    if (search.quarantined > 0) {
      remarks.push(
        `${counted(search.quarantined, 'element')} on the pages of the search ${search.search} ${search.quarantined === 1 ? 'was' : 'were'} left out; the table quarantine says which and why.`,
      )
    }
    if (search.withheld !== null) {
      const where = search.withheld_lists.length === 0 ? '' : ` in ${search.withheld_lists.join(', ')}`
      remarks.push(
        `Of the documents of ${search.search}${where} nothing was removed, for the search does not prove absence: ${search.withheld}.`,
      )
    }
    return remarks
  })
}

/** Why a search brought no pages: refused, lost, or ended without success; null where it did. */
function failureOf({ state, error_code, error_message }: DocumentReport): string | null {
  if (state === 'settled' && error_code === null) return null
  return [error_code, error_message?.replace(/\.$/, '') ?? state].filter((part) => part !== null).join(': ')
}

const partNouns: Record<UnrenewedPart, readonly [string, string]> = {
  company: ['company', 'companies'],
  company_name: ['company name', 'company names'],
  calculator: ['calculator', 'calculators'],
  calculator_title: ['calculator title', 'calculator titles'],
  value: ['value', 'values'],
  property: ['property value', 'property values'],
  variable_name: ['variable name', 'variable names'],
  property_name: ['name of a custom property', 'names of custom properties'],
}

/** What stands and was not renewed, a line per kind and reason. Pure. */
export function unrenewedLines(counts: readonly UnrenewedCount[]): string[] {
  return counts.map(
    ({ part, parts, reason, since }) =>
      `${partWords(part, parts)} not renewed since ${minuteOf(since)} UTC: ${reason}.`,
  )
}

/**
 * What a run's report says of it: what needs a person, and, of what a person has brought back, what is worth knowing.
 * Pure.
 */
export function unrenewedRemarks(counts: readonly UnrenewedCount[]): { remarks: string[]; notices: string[] } {
  const withheld = counts.filter((one) => one.withheld && one.reason !== 'restored')
  const unreadable = counts.filter((one) => !one.withheld)
  const restored = counts.filter((one) => one.reason === 'restored')
  const remarks = []
  if (withheld.length > 0) {
    remarks.push(
      `The search does not show ${partList(withheld)}, which stay as they were. If that is right: nightferry accept-removals --all, which removes them; with --dry-run it lists them.`,
    )
  }
  if (unreadable.length > 0) {
    remarks.push(
      `The search did not renew ${partList(unreadable)}, which stay as they were; the view not_renewed lists them.`,
    )
  }
  const notices =
    restored.length === 0
      ? []
      : [
          `The service does not show ${partList(restored)}. They stay until it does, or nightferry accept-removals --reason restored.`,
        ]
  return { remarks, notices }
}

function partList(counts: readonly UnrenewedCount[]): string {
  return counts
    .map(({ part, parts, reason, since }) => `${partWords(part, parts)} (${reason}, since ${minuteOf(since)} UTC)`)
    .join(', ')
}

function partWords(part: UnrenewedPart, parts: number): string {
  const [one, many] = partNouns[part]
  return `${grouped(parts)} ${parts === 1 ? one : many}`
}

/**
 * That the destination in use has no run, and which was the newest for another. Pure.
 * @param of the job that is told of, after a blank; empty: any.
 */
export function elsewhereWords(of: string, { run_id, destination }: RunElsewhere): string {
  return `No run${of} has worked yet for the destination in use; run ${run_id} was for ${destination}`
}

/** A moment to the minute, in UTC. Pure. */
export function minuteOf(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ')
}
