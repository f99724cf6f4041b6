import type { NameChange, SearchReport } from '../../db/runs/report-rows.ts'
import type { LeftOutProperty } from '../../db/tables/submission.ts'
import type { DocumentReport } from '../pull/documents/document-reports.ts'
import type { UnknownProperties } from '../pull/search/requested-properties.ts'

/** Names that changed which a report spells out; the view name_changes has all of them. */
const namesShown = 10

/** What a search brought that is worth knowing and needs nobody: a sentence per thing. Pure. */
export function searchNotices(searches: readonly SearchReport[], renamed: readonly NameChange[]): string[] {
  const notices = searches.flatMap(({ left_out_properties }) =>
    left_out_properties.length === 0
      ? []
      : [
          `The service left out ${counted(left_out_properties.length)} that the search asked for: ${left_out_properties.map(propertyWords).join('; ')}. Their values did not come: fix pull.customPropertyIds, or ask their owner.`,
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
          `The service left out ${counted(leftOut.length)} that the search of run ${inRun ?? '?'} asked for: ${leftOut.map(propertyWords).join('; ')}.`,
        ]),
    ...(doubtful.length === 0
      ? []
      : [
          `The next search will not get ${counted(doubtful.length)} of pull.customPropertyIds: ${doubtful.map(propertyWords).join('; ')}.`,
        ]),
  ]
}

/**
 * Ids in the settings that the service lists nowhere. The search for calculators says itself what its pages left out.
 * Pure.
 */
export function unknownPropertyNotices(unknown: readonly UnknownProperties[]): string[] {
  return unknown.map(
    ({ setting, ids }) =>
      `${setting} names ${counted(ids.length)} that the service does not list for this key: ${ids.join(', ')}. Nothing comes back of ${ids.length === 1 ? 'it' : 'them'}: correct the setting.`,
  )
}

function propertyWords({ property_id, name, why, owner }: LeftOutProperty): string {
  const called = name === null || name === '' ? property_id : `"${name}" (${property_id})`
  if (why === 'not_owned') return `${called} belongs to ${owner ?? 'another profile'}`
  return why === 'unknown' ? `${called} is none that this key can see` : called
}

function counted(properties: number): string {
  return properties === 1 ? '1 custom property' : `${properties} custom properties`
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
        `${counts(search.failed_pages, 'page')} of the search ${search.search} could not be loaded: ${search.first_error ?? ''}`,
      )
    }
    if (search.quarantined > 0) {
      remarks.push(
        `${counts(search.quarantined, 'element')} on the pages of the search ${search.search} ${search.quarantined === 1 ? 'was' : 'were'} left out; the table quarantine says which and why.`,
      )
    }
    if (search.withheld !== null) {
      remarks.push(
        `Of the documents of ${search.search} nothing was removed, for the search does not prove absence: ${search.withheld}.`,
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

function counts(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
