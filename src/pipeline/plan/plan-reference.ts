import { HttpError, TransportError } from '../../exchange/errors.ts'
import type { Deps } from '../deps.ts'
import { fetchReferenceData } from '../reference/fetch-reference-data.ts'

/** What rows were judged against. */
export type PlannedReference = {
  /** `none`: nothing was ever fetched, so that little can be judged. */
  source: 'fetched' | 'cached' | 'none'
  /** When the oldest document was fetched. */
  fetched_at: Date | null
  /** Why it was not fetched; null where nobody wanted it to be. */
  why_not_fetched: string | null
}

/**
 * Fetches the reference data as a run would, into the plan's own tables, or takes what the last run stored: when asked
 * to, or when the service does not answer.
 * @throws {StopRun} when a run would stop over them.
 * @throws {HttpError} when the service does not know the key, which would stop a run too.
 */
export async function planReference(deps: Deps, cached: boolean): Promise<PlannedReference> {
  if (cached) return await stored(deps, null)
  try {
    await fetchReferenceData(deps)
    return { source: 'fetched', fetched_at: deps.now(), why_not_fetched: null }
  } catch (error) {
    const passing = error instanceof TransportError || (error instanceof HttpError && error.status >= 429)
    if (!passing) throw error
    return await stored(deps, error.message)
  }
}

async function stored({ db }: Deps, why: string | null): Promise<PlannedReference> {
  const oldest = await db
    .selectFrom('reference_data')
    .select('fetched_at')
    .orderBy('fetched_at')
    .limit(1)
    .executeTakeFirst()
  if (oldest === undefined) return { source: 'none', fetched_at: null, why_not_fetched: why }
  return { source: 'cached', fetched_at: oldest.fetched_at, why_not_fetched: why }
}
