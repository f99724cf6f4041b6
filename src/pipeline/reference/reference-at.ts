import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { ReferenceDocument } from './reference-documents.ts'

/** The documents as they stood in a version that is kept, without `raw`. Version 0 holds none. */
export async function documentsAt(db: Database, version: number): Promise<ReferenceDocument[]> {
  const { rows } = await sql<ReferenceDocument>`
    select kind, id, document - 'raw' as document from reference_data where version <= ${version}
    union all
    select kind, id, document from reference_past where from_version <= ${version} and until_version > ${version}
    order by kind, id`.execute(db)
  return version === 0 ? [] : rows
}
