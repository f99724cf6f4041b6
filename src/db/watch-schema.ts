import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from './database.ts'
import { requireKnownSchema, SchemaMismatch } from './schema-standing.ts'

type SchemaWatch = {
  /** Aborts, with the error as its reason, once a newer version has migrated the database. */
  newer: AbortSignal
  /** Looks at once. @throws {SchemaMismatch} when the schema is newer than this version knows. */
  check: () => Promise<void>
  stop: () => void
}

/**
 * Looks now and then whether a newer version has migrated the database under this process, which must not go on then.
 */
export function watchSchema(db: Database, intervalMs: number): SchemaWatch {
  const newer = new AbortController()
  const stopping = new AbortController()
  const check = async () => {
    try {
      await requireKnownSchema(db)
    } catch (error) {
      if (error instanceof SchemaMismatch) newer.abort(error)
      throw error
    }
  }
  const watch = async () => {
    while (!stopping.signal.aborted && !newer.signal.aborted) {
      await delay(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      // A database that is away is told of elsewhere; the next look asks again.
      if (!stopping.signal.aborted) await check().catch(() => {})
    }
  }
  void watch()
  return { newer: newer.signal, check, stop: () => stopping.abort() }
}
