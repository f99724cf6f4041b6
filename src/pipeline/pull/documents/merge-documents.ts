import { sql, type Transaction } from 'kysely'
import type pg from 'pg'
import { type CopyValue, copyLine, copyReady } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { knownBefore, returnedAt } from '../merge/known-companies.ts'
import { hashPrefix } from './document-assembler.ts'

export type DocumentCounts = {
  /** Elements on the page that can be stored. */
  documents: number
  /** Of these: not here before, different from before or gone before, as before. */
  added: number
  changed: number
  unchanged: number
  quarantined: number
  /** Left out, and not to be told from others. */
  unidentified: number
}

type MergeDocumentsOptions = {
  pageId: number
  submissionId: number
  /** The page's place among those of the search. */
  ordinal: number
  /** The name of the search. */
  search: string
  /** The lists on the page, also those without an element. */
  lists: readonly string[]
  maxQuarantineRows: number
}

/**
 * Merges the staged page into the documents of its search. What stands as it is is not written, only noted as seen. Of
 * several elements with one id that differ the first counts, on the page and among the pages of the search, in whatever
 * order these are loaded; the others are left out.
 */
export async function mergeDocuments(
  trx: Transaction<Schema>,
  options: MergeDocumentsOptions,
): Promise<DocumentCounts> {
  // Pages of one search merge one after the other: they may contain the same element, and must agree on which one
  // counts.
  await sql`select from submission where submission_id = ${options.submissionId} for no key update`.execute(trx)
  await judgeStaged(trx, options)
  await leaveOutLater(trx)
  const fresh = await displaceLater(trx, options)
  const changed = await sql`
    update document d
    set document = s.document, content_hash = m.content_hash, changed_at = statement_timestamp(), removed_at = null,
      ${returnedAt('d')}
    from merge_document m join staged_document s using (position)
    where m.fate = 'changed' and d.document_key = m.document_key`.execute(trx)
  const added = await sql`
    insert into document (search, list, document_id, content_hash, document)
    select ${options.search}, m.list, m.document_id, m.content_hash, s.document
    from merge_document m join staged_document s using (position)
    where m.fate = 'new'
    order by m.position`.execute(trx)
  await noteSeen(trx, options)
  await noteMissingLists(trx, options)
  return {
    ...(await counted(trx)),
    added: Number(added.numAffectedRows ?? 0) + fresh,
    changed: Number(changed.numAffectedRows ?? 0) - fresh,
    ...(await storeLeftOut(trx, options)),
  }
}

/**
 * Decides what becomes of each element: `new`, `changed`, `unchanged`, `same` as one before it on the page, or `later`.
 */
async function judgeStaged(trx: Transaction<Schema>, { search, submissionId, ordinal }: MergeDocumentsOptions) {
  await sql`analyze staged_document (position, list)`.execute(trx)
  await sql`
    create temporary table merge_document on commit drop as
    with hashed as (
      select position, list, document_id, sha256(convert_to(document::text, 'UTF8')) as content_hash
      from staged_document
    ), identified as (
      select position, list, content_hash,
             coalesce(document_id, ${hashPrefix}::text || encode(content_hash, 'hex')) collate "C" as document_id
      from hashed
    ), placed as (
      select *, row_number() over of_one = 1 as first, first_value(content_hash) over of_one as first_hash
      from identified
      window of_one as (partition by list, document_id order by position)
    )
    select p.position, p.list, p.document_id, p.content_hash, d.document_key, z.page_ordinal as shown_by,
           case
             when not p.first and p.content_hash = p.first_hash then 'same'
             when not p.first then 'later'
             when d.document_key is null then 'new'
             when d.content_hash <> p.content_hash and z.page_ordinal < ${ordinal}::integer then 'later'
             when d.content_hash <> p.content_hash or d.removed_at is not null then 'changed'
             else 'unchanged'
           end as fate
    from placed p
    left join document d on d.search = ${search} and d.list = p.list and d.document_id = p.document_id
    left join search_seen_document z on z.submission_id = ${submissionId}::bigint
      and z.document_key = d.document_key`.execute(trx)
  await sql`analyze merge_document`.execute(trx)
}

async function leaveOutLater(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into staged_left_out (list, document_id, reason, excerpt)
    select m.list, m.document_id, 'document_twice', left(s.document::text, 200)
    from merge_document m join staged_document s using (position)
    where m.fate = 'later'
    order by m.position`.execute(trx)
}

/**
 * A page that was loaded before this one and stands behind it in the search: its differing element is left out after
 * all, and it counts as the pages would have it had they come in their order.
 * @returns how many of these elements no search had shown before.
 */
async function displaceLater(
  trx: Transaction<Schema>,
  { submissionId, ordinal }: MergeDocumentsOptions,
): Promise<number> {
  const { rows } = await sql<{ fresh: number }>`
    with displaced as (
      select p.page_id, d.list || ' ' || d.document_id as item, left(d.document::text, 200) as excerpt,
        case when not ${knownBefore(submissionId)} then 'added'
             when d.changed_at >= (select planned_at from submission where submission_id = ${submissionId})
             then 'changed' else 'unchanged' end as counted
      from merge_document m
      join document d using (document_key)
      join search_page p on p.submission_id = ${submissionId} and p.ordinal = m.shown_by
      where m.fate = 'changed' and m.shown_by > ${ordinal}::integer and d.content_hash <> m.content_hash
    ), kept as (
      insert into quarantine (page_id, unit, item, reason, excerpt)
      select page_id, 'document', item, 'document_twice', excerpt from displaced
    ), corrected as (
      update search_page p
      set quarantined = p.quarantined + c.elements, documents = p.documents - c.elements, added = p.added - c.added,
        changed = p.changed - c.changed, unchanged = p.unchanged - c.unchanged
      from (
        select page_id, count(*) as elements, count(*) filter (where counted = 'added') as added,
          count(*) filter (where counted = 'changed') as changed,
          count(*) filter (where counted = 'unchanged') as unchanged
        from displaced group by page_id
      ) c
      where p.page_id = c.page_id
    )
    select count(*) as fresh from displaced where counted = 'added'`.execute(trx)
  return Number(rows[0]?.fresh ?? 0)
}

/** An element that was left out shows for all that that its document is still there. */
async function noteSeen(trx: Transaction<Schema>, { submissionId, ordinal, search }: MergeDocumentsOptions) {
  await sql`
    insert into search_seen_document as z (submission_id, document_key, page_ordinal)
    select ${submissionId}::bigint, d.document_key, ${ordinal}::integer
    from merge_document m join document d on d.search = ${search} and d.list = m.list and d.document_id = m.document_id
    where m.fate in ('new', 'changed', 'unchanged')
    on conflict (submission_id, document_key) do update set page_ordinal = least(z.page_ordinal, excluded.page_ordinal)
    where z.page_ordinal is distinct from least(z.page_ordinal, excluded.page_ordinal)`.execute(trx)
  await sql`
    insert into search_seen_document (submission_id, document_key)
    select distinct ${submissionId}::bigint, d.document_key
    from staged_left_out l join document d on d.search = ${search} and d.list = l.list and d.document_id = l.document_id
    on conflict do nothing`.execute(trx)
}

/**
 * Notes, in the quarantine, lists that the page lacks and of which documents stand: that it does not give them shows
 * nothing of them as gone. The end of the search takes back what did not matter. Goes from list to list, and looks at
 * one document of each that the page lacks, because every page does this under the lock on its search.
 */
async function noteMissingLists(trx: Transaction<Schema>, { pageId, search, lists }: MergeDocumentsOptions) {
  await sql`
    with recursive known as (
      select min(list) as list from document where search = ${search}
      union all
      select (select min(list) from document where search = ${search} and list > known.list)
      from known where known.list is not null
    )
    insert into quarantine (page_id, unit, item, reason, excerpt)
    select ${pageId}::bigint, 'document', list, 'list_missing', ''
    from known
    where list <> all(${lists}::text[]) and (
      select true from document d
      where d.search = ${search} and d.list = known.list and d.removed_at is null
      order by d.document_id limit 1
    )`.execute(trx)
}

async function counted(trx: Transaction<Schema>): Promise<Pick<DocumentCounts, 'documents' | 'unchanged'>> {
  const { rows } = await sql<{ documents: number; unchanged: number }>`
    select count(*) filter (where fate <> 'later') as documents, count(*) filter (where fate = 'unchanged') as unchanged
    from merge_document`.execute(trx)
  return rows[0] ?? { documents: 0, unchanged: 0 }
}

/** Keeps what was left out, at most `maxQuarantineRows` of it; the counts are exact. */
async function storeLeftOut(
  trx: Transaction<Schema>,
  { pageId, maxQuarantineRows }: MergeDocumentsOptions,
): Promise<Pick<DocumentCounts, 'quarantined' | 'unidentified'>> {
  await sql`
    insert into quarantine (page_id, unit, item, reason, excerpt)
    select ${pageId}::bigint, 'document', list || coalesce(' ' || document_id, '[' || ordinal || ']'), reason, excerpt
    from staged_left_out order by seq limit ${maxQuarantineRows}`.execute(trx)
  const { rows } = await sql<{ quarantined: number; unidentified: number }>`
    select count(*) as quarantined, count(*) filter (where document_id is null) as unidentified
    from staged_left_out`.execute(trx)
  return rows[0] ?? { quarantined: 0, unidentified: 0 }
}

/** Where a page lies until its merge, with the columns that COPY fills, in order. */
const columns = {
  staged_document: ['position', 'list', 'document_id', 'document'],
  staged_left_out: ['list', 'ordinal', 'document_id', 'reason', 'excerpt'],
} as const

type DocumentStaging = keyof typeof columns

/** Makes the temporary tables of one page; they vanish with the transaction, however it ends. */
export async function createDocumentStaging(trx: Transaction<Schema>): Promise<void> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  await sql`
    create temporary table staged_document (
      position integer not null, list text not null, document_id text collate "C", document jsonb not null
    ) on commit drop`.execute(trx)
  await sql`
    create temporary table staged_left_out (
      seq bigint generated always as identity, list text not null, ordinal integer, document_id text collate "C",
      reason text not null, excerpt text not null
    ) on commit drop`.execute(trx)
}

/** Characters kept before a COPY. Larger saves round trips, smaller saves memory. */
const batchCharacters = 1024 * 1024

export type DocumentWriter = {
  add(table: DocumentStaging, row: readonly CopyValue[]): void
  /**
   * Copies what has been added, if it is enough to be worth a round trip. Await it between elements: memory depends on
   * it.
   */
  drain(): Promise<void>
  /** Copies all that has been added. */
  flush(): Promise<void>
}

/** Fills the staging tables through COPY; a connection runs one at a time, so rows gather per table. */
export function createDocumentWriter(client: pg.ClientBase): DocumentWriter {
  const pending = new Map<DocumentStaging, string[]>()
  let characters = 0
  const flush = async (): Promise<void> => {
    const copies = [...pending].map(([table, lines]) => ({
      into: `pg_temp.${table} (${columns[table].join(', ')})`,
      rows: [Buffer.from(lines.join(''))],
    }))
    await copyReady(client, copies)
    pending.clear()
    characters = 0
  }
  return {
    add: (table, row) => {
      const line = copyLine(row)
      characters += line.length
      const lines = pending.get(table)
      if (lines === undefined) pending.set(table, [line])
      else lines.push(line)
    },
    drain: async () => {
      if (characters >= batchCharacters) await flush()
    },
    flush,
  }
}
