import { type Kysely, sql } from 'kysely'

/** What the searches other than that for calculators returned: a document per element of the lists on their pages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // No GIN index: pages are merged by their key and people mostly ask for one search, which the key finds. An index
  // over every path and value would cost each load more than the load itself.
  await sql`
    create table document (
      document_key bigint generated always as identity unique,
      search text not null,
      list text not null,
      document_id text collate "C" not null,
      content_hash bytea not null,
      document jsonb not null,
      first_seen_at timestamptz not null default statement_timestamp(),
      changed_at timestamptz not null default statement_timestamp(),
      removed_at timestamptz,
      primary key (search, list, document_id)
    )`.execute(db)
  // No foreign keys: their triggers would run once an element, and neither submissions nor documents are ever deleted.
  await sql`
    create table search_seen_document (
      submission_id bigint not null,
      document_key bigint not null,
      page_ordinal integer,
      primary key (submission_id, document_key)
    )`.execute(db)
  await sql`
    alter table search_page
      add column documents bigint not null default 0,
      add column unidentified bigint not null default 0`.execute(db)
  await sql`alter table quarantine drop constraint quarantine_unit_check`.execute(db)
  await sql`
    alter table quarantine add constraint quarantine_unit_check check (
      unit in ('company', 'calculator', 'value', 'property', 'variable_name', 'property_name', 'document')
    )`.execute(db)
  await sql`
    create view documents as
    select search, list, document_id, document, first_seen_at, changed_at, removed_at from document`.execute(db)
  for (const comment of comments) await comment.execute(db)
}

/** Literal SQL throughout: `comment on` takes no parameters. */
const comments = [
  sql`comment on column document.content_hash is
    'SHA-256 of the text of the document, which does not depend on the order of its keys'`,
  sql`comment on table search_seen_document is
    'Documents that the pages of a search have shown so far: the ground on which absence is judged'`,
  sql`comment on column search_seen_document.page_ordinal is
    'The page whose content of it is stored; null where it could not be stored from any'`,
  sql`comment on column search_page.documents is 'Of the other searches: elements on the page that can be stored'`,
  sql`comment on column search_page.unchanged is
    'Companies whose bytes were those of the last time, so that nothing was read or written; of other searches elements'`,
  sql`comment on column search_page.unidentified is
    'Elements that were left out and cannot be told from others: any that seems absent might be one of them'`,
  sql`comment on view documents is
    'Elements of the lists on the pages of the searches in pull.searches; those gone since keep their row'`,
  sql`comment on column documents.search is 'The name of the search in pull.searches'`,
  sql`comment on column documents.list is 'The list on the pages of the search that holds the element'`,
  sql`comment on column documents.document_id is
    'The id of the element within its list; sha256: and a hash of its content where it has none'`,
  sql`comment on column documents.document is 'The element as the service last gave it'`,
  sql`comment on column documents.first_seen_at is 'When a page first held the element'`,
  sql`comment on column documents.changed_at is 'When its content last changed here, or it was removed or came back'`,
  sql`comment on column documents.removed_at is
    'When a complete search no longer returned the element; null while it does'`,
]
