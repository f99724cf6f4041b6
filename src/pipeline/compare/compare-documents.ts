import { hostname } from 'node:os'
import { sql, type Transaction } from 'kysely'
import type { SearchSettings } from '../../config/job-settings.ts'
import { recordAction } from '../../db/actions/record-action.ts'
import { countRepairable, markForRepair, noteUnsentRepair, type Repairable } from '../../db/ledger/found-otherwise.ts'
import { lockRun } from '../../db/runs/run-life.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import { type Deps, sendingSetting } from '../deps.ts'
import { documentKindNames } from '../streams/kind-names.ts'
import { carriedStreams } from '../streams/our-streams.ts'
import { type AnswerTypes, loadAnswerTypes } from '../streams/rules/reference-index.ts'
import { type ComparedStreams, type Counts, compareCompany, comparedCompanies, type Judge } from './compare-company.ts'
import { type ComparedKind, comparedKinds } from './compared-kinds.ts'
import {
  createFindings,
  dropFindings,
  noteComparison,
  stageFindings,
  stageUnjudged,
  storeFindings,
} from './findings.ts'
import { comparingSearch } from './what-is-compared.ts'

/**
 * Compares every kind of row but calculator inputs with what the run's searches show of it: answers and omissions,
 * custom property values, standards held, and mappings. A kind without a search, with one that cannot prove absence, or
 * whose pages are laid out otherwise than the contract assumes, is not compared, and it is noted why: no false alarm is
 * raised.
 */
export async function compareDocuments(deps: Deps, run: Run): Promise<void> {
  const carried = carriedStreams(deps.contract, deps.config)
  if (carried.length === 0) return
  const kinds = comparedKinds(deps.contract, sendingSetting(deps, 'customIdentifierId'))
  const reference = await loadAnswerTypes(deps.pool, deps.db)
  for (const kind of kinds.filter(({ streams }) => streams.some((stream) => carried.includes(stream)))) {
    await deps.db.transaction().execute(async (trx) => {
      if (!(await lockRun(trx, run.run_id))) return
      const compared = await compareKind(deps, trx, run, kind, reference)
      await noteComparison(trx, { run_id: run.run_id, kind: kind.name, ...compared })
      deps.logger.info({ run_id: run.run_id, kind: kind.name, ...compared }, 'rows_compared')
    })
  }
}

type Compared = Counts & { submission_id: number | null; withheld: string | null; suspicious: boolean; new: number }

const nothing: Omit<Compared, 'withheld'> = {
  submission_id: null,
  suspicious: false,
  rows: 0,
  equal: 0,
  absent: 0,
  different: 0,
  unjudged: 0,
  unsettled: 0,
  new: 0,
}

async function compareKind(
  deps: Deps,
  trx: Transaction<Schema>,
  run: Run,
  kind: ComparedKind,
  reference: AnswerTypes,
): Promise<Compared> {
  const asked = await bodiesSent(trx, run.run_id)
  const made = deps.config.pull.searches.map((search) => ({ ...search, body: asked.get(search.name) ?? search.body }))
  const fitting = comparingSearch(kind, made)
  if (typeof fitting === 'string') return { ...nothing, withheld: fitting }
  const ended = await endedSearch(trx, run.run_id, fitting)
  if (typeof ended === 'string') return { ...nothing, withheld: ended }
  const submission = { submission_id: ended.submissionId }
  await createFindings(trx)
  const judge = await judgeOf(deps, trx, kind, fitting, reference)
  const carried = carriedStreams(deps.contract, deps.config)
  const search = { ...fitting, submissionId: ended.submissionId }
  const counts = await compareAll(trx, { ...kind, carried }, judge, search)
  const reason = counts === null ? await misfitWords(trx, kind, fitting) : nothingFits(kind, counts)
  if (counts === null || reason !== null) {
    await dropFindings(trx)
    return { ...nothing, ...submission, withheld: reason, suspicious: counts !== null }
  }
  return { ...nothing, ...counts, ...submission, withheld: null, new: await storeFindings(trx, kind.name, run.run_id) }
}

/**
 * A custom property that the search asked for and does not show is not judged. Where it shows none of them, its pages
 * may be read wrongly, which `nothingFits` finds by judging all.
 */
async function judgeOf(
  { contract }: Deps,
  trx: Transaction<Schema>,
  kind: ComparedKind,
  { name, body }: SearchSettings,
  reference: AnswerTypes,
): Promise<Judge> {
  const asked = kind.properties(body)
  const shown = await shownProperties(trx, contract, name, asked)
  return kind.judge(shown.size === 0 ? asked : shown, reference)
}

/** @returns null where a page is laid out otherwise than the contract assumes. */
async function compareAll(
  trx: Transaction<Schema>,
  kind: ComparedKind & ComparedStreams,
  judge: Judge,
  { name, submissionId }: { name: string; submissionId: number },
): Promise<Counts | null> {
  const total: Counts = { rows: 0, equal: 0, absent: 0, different: 0, unjudged: 0, unsettled: 0 }
  const { list, companyMember } = kind
  const search = { submissionId, search: name, list, companyMember }
  for await (const companies of comparedCompanies(trx, kind, search)) {
    const compared = companies.map(({ company_id: companyId, rows, documents }) => {
      const stored = documents === null ? null : kind.read(documents)
      if (documents !== null && stored === null) return null
      return compareCompany({ companyId, rows, stored }, judge)
    })
    if (compared.includes(null)) {
      await sql`close compared`.execute(trx)
      return null
    }
    const fitting = compared.filter((result) => result !== null)
    for (const { counts } of fitting) {
      for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name]
    }
    await stageFindings(
      trx,
      fitting.flatMap(({ findings }) => findings),
    )
    await stageUnjudged(
      trx,
      fitting.flatMap(({ unjudged }) => unjudged),
    )
  }
  return total
}

async function misfitWords(trx: Transaction<Schema>, kind: ComparedKind, { name }: SearchSettings): Promise<string> {
  const members = await membersShown(trx, name, kind.list)
  return `the pages of ${name} are not laid out as config/contract.yaml assumes; elements of ${kind.list} have the members ${members.join(', ')}`
}

/**
 * These pages are an assumption. Where not one of the rows is found on them as it was sent, it is more likely that they
 * are read wrongly than that the service lost everything: that is told, and nothing is concluded from it.
 */
function nothingFits({ name }: ComparedKind, { rows, equal, absent, different }: Counts): string | null {
  if (equal > 0 || absent + different === 0) return null
  return `not one of ${rows} ${name.replace('_', ' ')} is found as it was sent: either the service lost all of them, or its pages are not laid out as config/contract.yaml assumes. nightferry trace shows a hotel's; nightferry resend sends them again`
}

/** What the run's searches for documents asked for, by name: not what the configuration of this process says. */
async function bodiesSent(trx: Transaction<Schema>, runId: number): Promise<Map<string, SearchSettings['body']>> {
  const rows = await trx
    .selectFrom('submission')
    .select(['partition', 'asked'])
    .where('run_id', '=', runId)
    .where('kind', 'in', documentKindNames)
    .where('asked', 'is not', null)
    .orderBy('submission_id')
    .execute()
  return new Map(rows.map(({ partition, asked }) => [partition, asked ?? {}]))
}

/** The search of the run, if it proves what is absent; else why it does not. */
async function endedSearch(
  trx: Transaction<Schema>,
  runId: number,
  { name }: SearchSettings,
): Promise<{ submissionId: number } | string> {
  const search = await trx
    .selectFrom('submission')
    .select(['submission_id', 'state', 'search_result'])
    .select((eb) =>
      eb
        .selectFrom('search_page')
        .whereRef('search_page.submission_id', '=', 'submission.submission_id')
        .select((page) => page.fn.coalesce(page.fn.sum<number>('quarantined'), page.lit(0)).as('left_out'))
        .as('left_out'),
    )
    .where('run_id', '=', runId)
    .where('kind', 'in', documentKindNames)
    .where('partition', '=', name)
    .orderBy('submission_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (search === undefined) return `the run made no search ${name}`
  if (search.state !== 'settled' || search.search_result === null) return `the search ${name} was not loaded whole`
  if (search.search_result.reason !== null)
    return `the search ${name} does not prove absence: ${search.search_result.reason}`
  if (Number(search.left_out) > 0) return `parts of the pages of ${name} were left out`
  return { submissionId: search.submission_id }
}

/**
 * Has the next run send again what the service accepted and does not show: absent rows by themselves, different ones
 * where `push.repair` says so for their stream. Once per finding, and never more at a time than the guard lets through;
 * what is more is named in the report, with the verb that sends it.
 */
export async function repairDifferences(deps: Deps, run: Run): Promise<void> {
  const { config, contract, db, logger, now } = deps
  const done = await db.transaction().execute(async (trx) => {
    if (!(await lockRun(trx, run.run_id))) return []
    const carried = carriedStreams(contract, config)
    const found = (await countRepairable(trx)).filter((one) => carried.includes(one.stream) && isWanted(config, one))
    for (const one of found) {
      if (isTooMuch(config, one, found)) {
        await noteUnsentRepair(trx, { run_id: run.run_id, stream: one.stream, kind: one.kind, rows: one.found })
        continue
      }
      const actionId = await recordAction(trx, {
        verb: 'repair',
        actor: { user: 'nightferry', host: hostname() },
        at: now(),
        rows: one.rows,
        asked: { stream: one.stream, difference: one.kind, run: String(run.run_id) },
        result: 'the next run sends them again',
      })
      await markForRepair(trx, actionId, run.run_id, one)
    }
    return found
  })
  for (const one of done) logger.warn({ run_id: run.run_id, ...one }, 'difference_to_repair')
}

function isWanted({ push }: Deps['config'], { stream, kind }: Repairable): boolean {
  return kind === 'absent' || push.repair[stream] === 'send'
}

/** As the guard judges what the partner changed: by the share of the stream, absent and different ones together. */
function isTooMuch({ guard }: Deps['config'], one: Repairable, found: readonly Repairable[]): boolean {
  const rows = found.filter(({ stream }) => stream === one.stream).reduce((sum, other) => sum + other.rows, 0)
  return rows >= guard.minRows && rows > guard.maxChangedShare * one.known
}

/** The members that documents of a search have, most common first: what a person compares with the contract. */
async function membersShown(trx: Transaction<Schema>, search: string, list: string): Promise<string[]> {
  const { rows } = await sql<{ member: string }>`
    select member from (select document from document where search = ${search} and list = ${list} limit 100) sample,
      jsonb_object_keys(case jsonb_typeof(document) when 'object' then document else '{}' end) member
    group by member order by count(*) desc, member limit 20`.execute(trx)
  return rows.map(({ member }) => member)
}

/**
 * Which of the custom properties that a companies search asked for it shows, in lower case: its head lists them, or a
 * company has a value of them. One that the profile does not own is silently left out (specification, Calculator search
 * result page), and that proves nothing of its values.
 * @param search the name of the search in `pull.searches`; it must have ended, and prove what is absent.
 * @param asked in lower case.
 */
async function shownProperties(
  trx: Transaction<Schema>,
  { names }: Contract,
  search: string,
  asked: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (asked.size === 0) return asked
  const { customProperties, companies, id, fields } = names.companiesPage
  const { rows } = await sql<{ property: string }>`
    select property from unnest(${[...asked]}::text[]) property
    where exists (
        select from document
        where search = ${search} and list = ${customProperties} and removed_at is null
          and lower(document ->> ${id}::text) = property)
      or exists (
        select from (
          select document -> ${fields}::text as fields, search, list, removed_at from document
        ) company
        cross join lateral jsonb_object_keys(case jsonb_typeof(fields) when 'object' then fields else '{}' end) shown
        where search = ${search} and list = ${companies} and removed_at is null and lower(shown) = property)`.execute(
    trx,
  )
  return new Set(rows.map(({ property }) => property))
}
