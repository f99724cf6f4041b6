import type { ReferenceChange, ReferenceVersion, UntakenReference } from '../../db/tables/reference-tables.ts'
import type { CachedDocument } from '../../pipeline/reference/list-reference.ts'
import { counted, moment, readable, shortened } from './readable.ts'
import { table } from './table.ts'

/** Versions listed; the JSON has all that are kept. */
const versionsShown = 10

/** What is cached, as a person reads it. */
export function renderReference(
  documents: readonly CachedDocument[],
  versions: readonly ReferenceVersion[],
  untaken: UntakenReference | null,
): string {
  const [newest] = versions
  if (newest === undefined) return 'No reference data were fetched yet; nightferry run fetches them.'
  const head = `Version ${newest.version} of the reference data, fetched ${moment(newest.fetched_at)} UTC, last confirmed ${moment(newest.confirmed_at)} UTC`
  const inForce = table(
    ['kind', 'name', 'id', 'questions', 'data points', 'version', 'changed (UTC)'],
    documents.map((one) => [
      one.kind.replace('_', ' '),
      shortened(one.name, 40),
      one.id,
      one.questions,
      one.data_points,
      one.version,
      moment(one.changed_at),
    ]),
  )
  const kept = table(
    ['version', 'fetched (UTC)', 'last confirmed (UTC)', 'run', 'changes'],
    versions
      .slice(0, versionsShown)
      .map((one) => [one.version, moment(one.fetched_at), moment(one.confirmed_at), one.run_id, one.changes]),
  )
  const parts = [head, inForce, kept]
  if (untaken !== null) parts.push(renderUntaken(untaken))
  parts.push('nightferry reference --changes [--from <version>] [--to <version>] says what changed.')
  return parts.join('\n\n')
}

function renderUntaken({ reason, times, first_seen_at, accepted_at, accepted_by }: UntakenReference): string {
  const since = `Withheld since ${moment(first_seen_at)} UTC, ${counted(times, 'time')}: ${readable(reason)}.`
  return accepted_at === null
    ? `${since}\nIf this is right: nightferry reference --accept`
    : `${since}\nAccepted by ${readable(accepted_by ?? '')} on ${moment(accepted_at)} UTC: the next run takes it.`
}

/** What differs between two versions. */
export function renderReferenceChanges(from: number, to: number, changes: readonly ReferenceChange[]): string {
  if (changes.length === 0) return `Versions ${from} and ${to} of the reference data do not differ.`
  const rows = changes.map((one) => [
    one.change,
    one.item === 'document' ? one.kind.replace('_', ' ') : one.item.replace('_', ' '),
    shortened(one.item_name, 50),
    one.item_id,
    shortened(one.item === 'document' ? '' : one.document_name, 30),
    one.change === 'changed' ? shortened(one.detail ?? '', 80) : '',
  ])
  return `What version ${to} of the reference data has, beside version ${from}\n${table(
    ['change', 'what', 'name', 'id', 'in', 'how'],
    rows,
  )}`
}
