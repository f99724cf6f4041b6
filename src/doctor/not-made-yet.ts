import { SchemaMismatch } from '../db/schema-standing.ts'

/** The embedded server has no data in the folder yet, or no such database. */
export class NotMadeYet extends Error {}

/** Whether something is not there because nothing has happened yet, which is no trouble. Pure. */
export function isNotMadeYet(error: unknown): boolean {
  return error instanceof NotMadeYet || (error instanceof SchemaMismatch && error.code === 'schema_missing')
}
