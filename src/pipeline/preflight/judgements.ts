import { type RawBuilder, sql } from 'kysely'
import { type Config, notMatchedCode, type StreamName } from '../../config/schema.ts'
import type { Database } from '../../db/database.ts'
import type { ResendPolicy } from '../../db/ledger/rows-to-retry.ts'
import { contentBytesAtOnce } from '../../db/next-fetch.ts'
import type { WarningKind } from '../../db/tables/row-tables.ts'
import type { Contract } from '../../exchange/contract.ts'

/** What rows are judged by besides the reference data. A change of any of it makes rows be judged again. */
export type JudgingRules = {
  checks: number
  maxTextLength: number
  customIdentifierId: string
  /** A digest of the kinds of request that the contract adds. */
  addedKinds: string
}

/**
 * What `judged_by` says of a row that was judged by a basis as it landed, and not yet compared with other rows.
 * Pure.
 */
export function notCompared(basis: number): number {
  return -basis
}

/** The number of what rows are judged by now: the version of the reference data in force, and our own rules. */
export async function judgingBasis(db: Database, rules: JudgingRules): Promise<number> {
  const { rows } = await sql<{ basis: number }>`
    with wanted as (
      -- Versions are numbered by destination.
      select destination_in_use() as destination_id,
             coalesce((select max(version) from reference_version), 0) as reference_version,
             ${JSON.stringify(rules)}::jsonb as rules
    ),
    made as (
      insert into judging_basis (destination_id, reference_version, rules)
      select * from wanted
      where not exists (select from judging_basis join wanted using (destination_id, reference_version, rules))
      on conflict do nothing
      returning basis
    )
    select basis from made
    union all
    select basis from judging_basis join wanted using (destination_id, reference_version, rules)`.execute(db)
  const [found] = rows
  // Nothing is returned where another process made the same one at the same moment: then it is there now.
  return found === undefined ? await judgingBasis(db, rules) : found.basis
}

/** The kinds of finding that make a row invalid, in the words of the index `row_finding_contradiction`. */
export const contradictionKinds = sql`'answered_and_declined', 'two_frameworks', 'two_partner_ids', 'two_spellings'`

/** `push.retries` with the code of an unmatched property as the service spells it. Pure. */
export function resendPolicies({ push }: Config, { names }: Contract): ResendPolicy[] {
  return push.retries.map(({ stream, code, afterMs, times }) => ({
    stream: stream ?? null,
    code: code === notMatchedCode ? names.companyMappingsResult.notFound : code,
    after_ms: afterMs,
    times,
  }))
}

export type UnjudgedRow = {
  row_id: number
  stream: StreamName
  partner_id: string
  content: Record<string, unknown>
  /** Of the content, in hexadecimal. */
  hash: string
  /** What it contradicts another row in; null where it contradicts none. */
  contradiction: string | null
  /** The partner has it no longer. It is judged once all the same, so that it is not met again every night. */
  is_gone: boolean
}

/**
 * Pending rows of the view `ledger` whose content was never judged as it is. In the words of the index
 * `acceptance_unjudged`.
 */
export const neverJudged = sql<boolean>`(pending and unjudged and gone_at is null)`

/**
 * Pending rows that were judged by something else than `basis`, or were not compared with others yet. The words of the
 * index `acceptance_judged_by`.
 */
export function judgedOtherwise(basis: number): RawBuilder<boolean> {
  return sql<boolean>`(
    pending and gone_at is null and judged and (judged_by < ${basis} or judged_by > ${basis}))`
}

/**
 * Rows that have to be judged, also those in flight, which may have changed since they were sent: pending ones whose
 * content changed, or that were judged by another basis. In batches; what is judged meanwhile is not met again.
 */
export async function* unjudgedRows(db: Database, basis: number, limit: number): AsyncGenerator<UnjudgedRow[]> {
  for (let after = 0; ; ) {
    const never = sql`checked_hash is distinct from wanted_hash and row_id > ${after}`
    const { rows, end } = await batch(db, never, sql`row_id`, limit)
    if (end === undefined) break
    yield rows
    after = end.row_id
  }
  // Each is one range of the index, in its order.
  const alone = notCompared(basis)
  const ranges = [
    sql`judged_by < ${alone}`,
    sql`judged_by > ${alone} and judged_by < ${basis}`,
    sql`judged_by > ${basis}`,
  ]
  for (const range of ranges) {
    let last = { judged_by: lowestBasis, row_id: 0 }
    for (;;) {
      const otherwise = sql`
        checked_hash = wanted_hash and ${range} and (judged_by, row_id) > (${last.judged_by}, ${last.row_id})`
      const { rows, end } = await batch(db, otherwise, sql`judged_by, row_id`, limit)
      if (end === undefined) break
      yield rows
      last = end
    }
  }
}

/** Whether any row waits to be judged, as after a mapping that moved, or made two hotels one company. */
export async function anyUnjudged(db: Database): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    with unjudged as materialized (
      select row_id from acceptance
      where accepted_hash is distinct from wanted_hash and checked_hash is distinct from wanted_hash
    )
    select exists (
      select from unjudged join ledger row using (row_id) where row.gone_at is null and row.held_by is null)
        as any`.execute(db)
  return rows[0]?.any ?? false
}

type Batch = { rows: UnjudgedRow[]; end: { judged_by: number; row_id: number } | undefined }

/**
 * The next pending rows, and where they end. The batch is cut from one index, in its order, before the contents are
 * joined to it: else each would join all that is left. Then it is cut once more, by the size of these.
 */
async function batch(
  db: Database,
  where: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  limit: number,
): Promise<Batch> {
  const { rows } = await sql<UnjudgedRow & { judged_by: number }>`
    with batch as materialized (
      select row_id, judged_by from acceptance
      where accepted_hash is distinct from wanted_hash and ${where}
      order by ${order}
      limit ${limit}
    ),
    weighed as materialized (
      select row_id, judged_by,
             sum(pg_column_size(content)) over (order by ${order}) - pg_column_size(content) as before
      from batch join source_row using (row_id)
    )
    select row_id, stream, partner_id, content, judged_by, encode(desired_hash, 'hex') as hash,
           gone_at is not null as is_gone,
           (select detail from row_finding
            where row_finding.row_id = weighed.row_id and kind in (${contradictionKinds})
            order by kind limit 1) as contradiction
    from weighed join source_row using (row_id)
    where before < ${contentBytesAtOnce}
    order by ${order}`.execute(db)
  return { rows, end: rows.at(-1) }
}

/** Below what any row says. */
const lowestBasis = -2_147_483_648

export type Judgement = {
  row_id: number
  hash: string
  invalid_reason: string | null
  warnings: readonly { kind: WarningKind; detail: string }[]
}

/** Stores verdicts and warnings, for rows whose content is still what was judged. */
export async function storeJudgements(db: Database, basis: number, judgements: readonly Judgement[]): Promise<void> {
  await sql`
    with judged as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(judgements)}::jsonb)
        as _(row_id bigint, hash text, invalid_reason text, warnings jsonb)
    ),
    stored as (
      update acceptance
      set invalid_reason = coalesce(contradiction, judged.invalid_reason), checked_hash = wanted_hash,
        judged_by = ${basis}
      from judged join source_row using (row_id)
      where acceptance.row_id = judged.row_id and acceptance.wanted_hash = decode(judged.hash, 'hex')
      returning acceptance.row_id, judged.warnings
    ),
    warned as (
      select row_id, kind, detail from stored, jsonb_to_recordset(warnings) as _(kind text, detail text)
    ),
    outdated as (
      delete from row_finding using stored
      where row_finding.row_id = stored.row_id and row_finding.kind in ('coordinates_zero', 'field_type_unseen')
        and not exists (select from warned where warned.row_id = row_finding.row_id and warned.kind = row_finding.kind)
    )
    insert into row_finding as known (row_id, kind, detail)
    select row_id, kind, detail from warned
    on conflict (row_id, kind) do update set detail = excluded.detail where known.detail <> excluded.detail`.execute(db)
}

/** Rows with one kind of warning, and a few of their partner ids. */
export type FoundWarnings = { kind: WarningKind; rows: number; examples: string[] }

/** What looks wrong and was found since a moment. */
export async function warningsSince(db: Database, since: Date): Promise<FoundWarnings[]> {
  const { rows } = await sql<FoundWarnings>`
    select kind, count(*) as rows, (array_agg(partner_id order by row_id))[1:3] as examples
    from row_finding join source_row using (row_id)
    where kind in ('partner_ids_alike', 'coordinates_zero', 'field_type_unseen')
      and found_at >= ${since} and gone_at is null
    group by kind
    order by kind`.execute(db)
  return rows
}
