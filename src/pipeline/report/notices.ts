import { counted, grouped } from '../../counted.ts'
import type { Database } from '../../db/database.ts'
import { answersLostCode } from '../../db/ledger/split-submission.ts'
import { companiesConfirmedTwice, type mappingsMovedIn } from '../../db/ledger/store-mappings.ts'
import type { StreamReport, SubmissionReport } from '../../db/runs/report-rows.ts'
import type { SpokenFor, WholeReading } from '../../db/runs/spoken-for.ts'
import type { ProtectionLack, Run, WholeReason } from '../../db/tables/run-tables.ts'
import type { ReferenceChange, ReferenceItem, ReferenceVersion } from '../../db/tables/service-tables.ts'
import { type FoundWarnings, warningsSince } from '../preflight/judgements.ts'
import { unreadableCode } from '../push/move-submission.ts'
import {
  referenceChanges,
  rowsUsingRemoved,
  untakenReference,
  versionsOfRuns,
} from '../reference/store-reference-data.ts'

/**
 * What is worth knowing of a run and is no reason to look, one sentence each. Pure.
 * @param whole what was read whole by the run and by those that it speaks for.
 */
export function noticesOf(
  streams: readonly StreamReport[],
  submissions: readonly SubmissionReport[] = [],
  whole: readonly WholeReading[] = streams,
): string[] {
  const gone = streams.reduce((sum, stream) => sum + stream.gone, 0)
  const returned = streams.reduce((sum, stream) => sum + stream.returned, 0)
  const notices = []
  if (gone > 0) {
    notices.push(
      `${grouped(gone)} of the rows known are gone at the partner. The service has no delete, so what it took of them stays there, unless another row writes the same: nightferry drift lists it.`,
    )
  }
  if (returned > 0) notices.push(`${grouped(returned)} of the rows that had been gone are there again.`)
  const unsent = streams.reduce((sum, stream) => sum + (stream.unsent ?? 0), 0)
  if (unsent > 0) {
    notices.push(
      `${counted(unsent, 'row')} not sent, because the run was asked for without the step push: the next run with it sends what is ready.`,
    )
  }
  for (const { stream, unconfigured = 0 } of streams) {
    if (unconfigured === 0) continue
    const rows = `${counted(unconfigured, 'row')} of ${stream} not sent`
    notices.push(`${rows}: the stream was taken out of the configuration while the run was under way.`)
  }
  const suspended = streams.reduce((sum, stream) => sum + (stream.suspended ?? 0), 0)
  if (suspended > 0) {
    notices.push(`${counted(suspended, 'row')} of suspended hotels, and not sent: nightferry hotels says which.`)
  }
  return [...notices, ...readingNotices(streams, whole), ...splitNotices(submissions)]
}

/** Which requests were split because nobody said which of their rows failed, and what was found. */
function splitNotices(submissions: readonly SubmissionReport[]): string[] {
  const families = Map.groupBy(
    submissions.filter(({ root_id }) => root_id !== null),
    ({ root_id }) => root_id,
  )
  return [...families].map(([root, parts]) => {
    const found = parts.reduce((sum, { failed_alone }) => sum + failed_alone, 0)
    const rows = `${found === 0 ? 'no row was' : found === 1 ? '1 row was' : `${grouped(found)} rows were`} found that it fails over`
    const whole = submissions.find(({ submission_id }) => submission_id === root)
    const why = whyOf(whole)
    return `Submission ${root} was split into ${parts.length} requests, ${why}; ${rows}.`
  })
}

function whyOf(whole: SubmissionReport | undefined): string {
  if (whole?.error_code === answersLostCode) return 'for the answers to it were lost however often it was sent'
  if (whole?.refusal_verdict != null) return `for the service refused it (${whole.error_code ?? 'without a code'})`
  return whole?.error_code === unreadableCode
    ? "for the service's answer about its task was too long to be read"
    : 'for its task ended in Error without naming a row'
}

/** Hotels that became another company, as a notice of the report. Pure. */
export function mappingNotices({ moved, total }: Awaited<ReturnType<typeof mappingsMovedIn>>): string[] {
  const notices = moved.map(
    ({ partner_id, company_before, company_id, rows }) =>
      `${partner_id} is company ${company_id} now, and was ${company_before}: ${grouped(rows)} accepted rows became pending and were to be sent again. The old company still holds them: nightferry drift lists it.`,
  )
  if (total > moved.length)
    notices.push(`${grouped(total - moved.length)} more hotels became another company: mapping_changes.`)
  return notices
}

/**
 * What a report says after a backup of our own database came back; nothing while it is the one of the run before. Pure.
 */
export function ownDatabaseRemarks(runOfOther: number | null): string[] {
  if (runOfOther === null) return []
  return [
    `Nightferry's database is another copy than the one of run ${runOfOther}: a backup was restored, or it was moved. If it was a backup, the service holds what was sent since, and the ledger does not know of it: nightferry resend --all --beyond-guard sends everything again with the next run. If it was moved as it was, nothing is wrong.`,
  ]
}

/** What is worth knowing of how streams were read, one sentence or two each, in the order of the report. Pure. */
function readingNotices(streams: readonly StreamReport[], whole: readonly WholeReading[]): string[] {
  const places = new Map(streams.map(({ stream }, place) => [stream, place]))
  const placeOf = ({ stream }: WholeReading) => places.get(stream) ?? places.size
  const inOrder = whole.toSorted((a, b) => placeOf(a) - placeOf(b))
  return [...wholeNotices(inOrder), ...askedNotices(streams), ...protectionNotices(streams)]
}

/** Reasons that say something to a person, with what they say; the others are as it should be. */
const wholeWords: Partial<Record<WholeReason, (streams: string, details: string) => string>> = {
  capture: (streams) => `The capture of ${streams} was changed: all rows were read and compared, so nothing is missed.`,
  cursor: (streams, details) =>
    `The cursor of ${streams} was changed (${details}). The old watermark says nothing of it, so all rows were read and compared, and nothing is missed. If that was no change of yours, look at cursor and query; nightferry reread reads a stream whole at any time.`,
  query: (streams) =>
    `The query of ${streams} was changed, its columns or its key: all rows were read and compared, so that the change reaches rows that were read before, and nothing is missed.`,
  lookup: (streams, details) =>
    `The lookups of ${streams} were changed${details === '' ? '' : ` (${details})`}: all rows were read and compared, so that rows that were read before get the ids of now, and nothing is missed.`,
  server: (streams, details) =>
    `Another server or database answers for the partner than before, or it was restored (${details}): all rows of ${streams} were read and compared. What to look at: docs/runbook.md, "The partner's database was restored".`,
  clock: (streams, details) =>
    `The clock of the partner's database was put back against ours (${details}). What people write after that carries times that were read before, so all rows of ${streams} were read and compared. Let NTP keep the clocks of both databases.`,
  newest_row: (streams, details) =>
    `The newest known row of ${streams} is gone or older than it was (${details}): it was deleted, or the partner's database was restored from an older copy. All rows were read and compared. What to look at: docs/runbook.md, "The partner's database was restored".`,
}

function wholeNotices(streams: readonly WholeReading[]): string[] {
  return Object.entries(wholeWords).flatMap(([reason, say]) => {
    const concerned = streams.filter(({ whole }) => whole === reason)
    if (concerned.length === 0) return []
    const details = new Set(concerned.flatMap(({ whole_detail }) => whole_detail ?? []))
    return [say(named(concerned), [...details].join('; '))]
  })
}

function askedNotices(streams: readonly StreamReport[]): string[] {
  return streams
    .filter(({ hotels_asked }) => hotels_asked > 0)
    .map(({ stream, hotels_asked }) => {
      const hotels = counted(hotels_asked, 'hotel')
      return `All ${stream} of ${hotels} were read again, because rows contradict each other; what the partner has no longer is counted as gone, unless the query yields only what changed lately (fullEvery: never).`
    })
}

const lackWords: Record<ProtectionLack, string> = {
  standby:
    "The partner's database is a standby, which does not show what is open at its primary; read from the primary, or use capture: snapshot",
  track_activities:
    "Sessions of the partner's database do not say what they do, because track_activities is off there; switch it on",
  subscriber:
    "The partner's database gets rows by a subscription, and does not show what is open at their publisher; read from there, or use capture: snapshot",
  prepared:
    "A transaction is prepared in the partner's database, which does not show when it began; commit it or roll it back",
  privilege:
    "The partner's database does not show all open transactions to this role; grant it what docs/extraction.md says",
}

function protectionNotices(streams: readonly StreamReport[]): string[] {
  const notices = []
  const byNothing = streams.filter(({ protection }) => protection === 'none')
  if (byNothing.length > 0) {
    notices.push(
      `The cursor of ${named(byNothing)} is no time: a row that got its cursor early and was committed late is missed if rows with a higher cursor were read before. With a time for a cursor, or capture: snapshot, it is found.`,
    )
  }
  const byOverlap = Map.groupBy(
    streams.filter(({ protection }) => protection === 'overlap'),
    ({ lacks }) => lacks ?? null,
  )
  for (const [lacks, concerned] of byOverlap) {
    const why = lacks === null ? "The partner's database does not show all open transactions" : lackWords[lacks]
    notices.push(
      `${why}: of ${named(concerned)}, a row committed late is found if its cursor lies within partner.overlapMs before the watermark, or else by the next full comparison.`,
    )
  }
  return notices
}

function named(streams: readonly { stream: string }[]): string {
  return streams.map(({ stream }) => stream).join(', ')
}

/** What a report says of the reference data and of rows that look wrong. Remarks need a person, notices do not. */
type ReferenceNews = { remarks: string[]; notices: string[] }

/** Gathers it for a run that ends, and for those that its report speaks for. */
export async function referenceNews(
  db: Database,
  run: Pick<Run, 'run_id'>,
  { runIds, since }: SpokenFor,
): Promise<ReferenceNews> {
  const versions = await versionsOfRuns(db, runIds)
  const untaken = await untakenReference(db)
  const [inForce] = await newest(db)
  const notices = []
  for (const { version, accepted_by } of versions) {
    const changes = await referenceChanges(db, version - 1, version)
    // The first version says nothing: all of it is new.
    if (version > 1) notices.push(...changeNotices(version, changes, await rowsUsingRemoved(db, [version])))
    if (accepted_by !== null) notices.push(`${accepted_by} accepted version ${version} of the reference data.`)
  }
  notices.push(...warningNotices(await warningsSince(db, since)))
  for (const { company_id, partner_ids } of await companiesConfirmedTwice(db, runIds)) {
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
        if (count > 0) parts.push(`${counted(count, noun)} ${change}`)
      }
    }
    const rows = rowsUsing.get(first.document_id) ?? 0
    if (rows > 0) parts.push(`${counted(rows, 'row')} here use what was removed`)
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
      `${counted(rows, 'row')} that ${rows === 1 ? what[kind].replace('have', 'has') : what[kind]} (${examples.join(', ')}${rows > examples.length ? ', …' : ''}): not held back; the view row_warnings lists them.`,
  )
}
