import type { ReferenceKind } from '../../db/tables/reference-tables.ts'

/** One document of the service's reference data. */
export type ReferenceDocument = { kind: ReferenceKind; id: string; document: object }

/** Documents by kind, as a fetch brings them. */
export type FetchedDocuments = Readonly<Record<ReferenceKind, readonly { id: string }[]>>
