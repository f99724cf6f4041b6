import type { Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { PartnerSnapshot } from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import type { Judge } from '../preflight/judge-row.ts'
import type { CursorStream } from '../streams/stream-shape.ts'
import { landDirectly } from './landing/land-directly.ts'
import type { LandedCounts } from './landing/land-rows.ts'
import { directRows, nothingSeen, type Seen } from './staged-lines.ts'

type FirstLanding = {
  deps: Deps
  run: Run
  client: PoolClient
  trx: Transaction<Schema>
  snapshot: PartnerSnapshot
  stream: CursorStream
  judge: Judge
}

/**
 * Reads a stream of which the ledger has nothing yet, and writes its rows as they come, with hash and verdict. The
 * guard holds no first rows, so nothing has to be counted before.
 *
 * @returns null where rows have to be staged after all: nothing was written then.
 */
export async function landFirst({
  deps,
  run,
  client,
  trx,
  snapshot,
  stream,
  judge,
}: FirstLanding): Promise<{ counts: LandedCounts; seen: Seen } | null> {
  const { name, shape, query, cursor } = stream
  const seen = nothingSeen()
  const rows = snapshot.delta({ ...query, cursor, from: null, overlapMs: deps.config.partner.overlapMs })
  const direct = directRows(rows, { shape, judge: judge.of(name), seen })
  const written = await landDirectly(client, trx, { stream: name, judgedBy: judge.basis }, direct)
  if (typeof written === 'string') {
    const facts = { run_id: run.run_id, stream: name, why: written }
    // Rows that are alike, or have no cursor, are the partner's. A server that writes contents otherwise is news to us.
    if (written === 'hash_differs') deps.logger.warn(facts, 'stream_staged')
    else deps.logger.debug(facts, 'stream_staged')
    return null
  }
  return { counts: { folded: 0, unchanged: 0, changed: written, gone: 0, returned: 0 }, seen }
}
