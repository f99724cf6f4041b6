import type { Database } from '../../db/database.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { ReferenceChange, ReferenceItem, ReferenceVersion } from '../../db/tables/service-tables.ts'
import { companiesConfirmedTwice, type FoundWarnings, warningsSince } from '../preflight/judging-basis.ts'
import { referenceChanges, rowsUsingRemoved, versionsOfRun } from '../reference/list-reference.ts'
import { untakenReference } from '../reference/store-reference-data.ts'

/** What a report says of the reference data and of rows that look wrong. Remarks need a person, notices do not. */
type ReferenceNews = { remarks: string[]; notices: string[] }

/** Gathers it for a run that ends. */
export async function referenceNews(db: Database, run: Pick<Run, 'run_id' | 'started_at'>): Promise<ReferenceNews> {
  const versions = await versionsOfRun(db, run.run_id)
  const untaken = await untakenReference(db)
  const [inForce] = await newest(db)
  const notices = []
  for (const { version, accepted_by } of versions) {
    const changes = await referenceChanges(db, version - 1, version)
    // The first version says nothing: all of it is new.
    if (version > 1) notices.push(...changeNotices(version, changes, await rowsUsingRemoved(db, [version])))
    if (accepted_by !== null) notices.push(`${accepted_by} accepted version ${version} of the reference data.`)
  }
  notices.push(...warningNotices(await warningsSince(db, run.started_at)))
  for (const { company_id, partner_ids } of await companiesConfirmedTwice(db, run.run_id)) {
    notices.push(
      `${partner_ids.join(', ')} are confirmed for one company (${company_id}): what one of them sends overwrites what the other sent.`,
    )
  }
  const isOfRun = untaken !== null && untaken.run_id === run.run_id
  return { remarks: isOfRun ? [untakenRemark(untaken.reason, inForce)] : [], notices }
}

async function newest(db: Database): Promise<ReferenceVersion[]> {
  return await db.selectFrom('reference_version').selectAll().orderBy('version', 'desc').limit(1).execute()
}

/** Why rows were judged by old reference data, and what to do. Pure. */
function untakenRemark(reason: string, inForce: Pick<ReferenceVersion, 'version' | 'confirmed_at'> | undefined) {
  const old = inForce === undefined ? '' : ` ${inForce.version}, last seen ${inForce.confirmed_at.toISOString()}`
  return `The service's reference data hold suspiciously little (${reason}), so they were not taken: rows are judged by version${old}. If this is right: nightferry reference --accept. If not, ask the service.`
}

const nouns: Record<Exclude<ReferenceItem, 'document'>, string> = {
  question: 'question',
  data_point: 'data point',
  option: 'option',
  unit: 'unit',
}
const kindNouns = { unit_type: 'unit type', group: 'group', custom_property: 'custom property', framework: 'framework' }

/** What a version changed, a sentence per document. Pure. */
function changeNotices(
  version: number,
  changes: readonly ReferenceChange[],
  rowsUsing: ReadonlyMap<string, number>,
): string[] {
  const documents = Map.groupBy(changes, ({ kind, document_id }) => `${kind} ${document_id}`)
  return [...documents.values()].flatMap((ofOne) => {
    const [first] = ofOne
    if (first === undefined) return []
    const whole = ofOne.find(({ item }) => item === 'document')
    const parts = whole === undefined ? [] : [whole.change === 'changed' ? `now ${whole.detail ?? ''}` : whole.change]
    for (const [item, noun] of Object.entries(nouns)) {
      for (const change of ['added', 'removed', 'changed'] as const) {
        const count = ofOne.filter((one) => one.item === item && one.change === change).length
        if (count > 0) parts.push(`${count} ${noun}${count === 1 ? '' : 's'} ${change}`)
      }
    }
    const rows = rowsUsing.get(first.document_id) ?? 0
    if (rows > 0) parts.push(`${rows} row${rows === 1 ? '' : 's'} here use what was removed`)
    return [
      `Reference data, version ${version}: ${kindNouns[first.kind]} "${first.document_name}": ${parts.join(', ')}.`,
    ]
  })
}

/** Rows that look wrong and were sent all the same, a sentence per kind. Pure. */
function warningNotices(found: readonly FoundWarnings[]): string[] {
  const what = {
    partner_ids_alike: 'have a partner_id that differs from another by case or surrounding white space alone',
    coordinates_zero: 'have 0 for latitude and longitude',
    field_type_unseen: 'have inputs of a field type that no page of calculators has named yet',
  }
  return found.map(
    ({ kind, rows, examples }) =>
      `${rows} row${rows === 1 ? '' : 's'} that ${rows === 1 ? what[kind].replace('have', 'has') : what[kind]} (${examples.join(', ')}${rows > examples.length ? ', …' : ''}): not held back; the view row_warnings lists them.`,
  )
}
