import { fullEveryMs } from '../../config/stream-settings.ts'
import { analyzeLedger } from '../../db/ledger/analyze-ledger.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { PartnerSnapshot, StreamQuery } from '../../partner/dialect.ts'
import { openPartnerSnapshot } from '../../partner/partner-snapshot.ts'
import type { Deps } from '../deps.ts'
import { loadJudge } from '../preflight/judge-row.ts'
import { shapeOf, streamNamesOf } from '../streams/our-streams.ts'
import { extractDelta } from './extract-delta.ts'
import { extractSnapshot } from './extract-snapshot.ts'
import { rereadContradicted } from './reread-contradicted.ts'

/**
 * Reads what changed in the partner's database into the ledger. Every stream is read through one snapshot, and
 * lands in a transaction of its own; a stream that this run has read already is left alone. Of hotels whose rows then
 * contradict each other, all rows are read from the same snapshot.
 *
 * @throws {PartnerDatabaseError} when the partner's database cannot be reached or a query of the configuration fails.
 */
export async function extract(deps: Deps, run: Run): Promise<void> {
  const { config, contract, required, db } = deps
  const { streams: asked } = run.asked
  const names = streamNamesOf(contract).filter((name) => config.streams[name] && (asked?.includes(name) ?? true))
  if (names.length === 0) return
  const done = await db.selectFrom('run_stream').select('stream').where('run_id', '=', run.run_id).execute()

  const snapshot = await openPartnerSnapshot({
    url: required.partnerUrl,
    statementTimeoutMs: config.partner.statementTimeoutMs,
  })
  try {
    // A query that is wrong is found before the first row lands.
    const checked = []
    for (const name of names) checked.push(await checkStream(deps, snapshot, name))
    const judge = await loadJudge(deps)
    for (const stream of checked.filter(({ name }) => !done.some(({ stream }) => stream === name))) {
      if (stream.cursor === null) await extractSnapshot(deps, run, snapshot, stream, judge)
      else await extractDelta(deps, run, snapshot, stream, judge)
    }
    const byCursor = checked.filter(({ cursor }) => cursor !== null)
    await rereadContradicted(deps, run, snapshot, byCursor, judge)
    await analyzeLedger(db)
  } finally {
    await snapshot.close()
  }
}

async function checkStream({ config, contract }: Deps, snapshot: PartnerSnapshot, name: string) {
  const stream = config.streams[name]
  if (stream === undefined) throw new Error(`the stream ${name} is not configured`)
  const shape = shapeOf(contract, name)
  const query: StreamQuery = {
    stream: name,
    query: stream.query,
    columns: shape.columns,
    fetchRows: config.partner.fetchRows,
  }
  const cursor = stream.capture === 'snapshot' ? null : (stream.cursor ?? null)
  const protection = await snapshot.check({ ...query, cursor })
  const common = { name, shape, query, protection, fullEveryMs: fullEveryMs(stream.fullEvery) }
  if (cursor === null) return { ...common, cursor, cursorType: null }
  return { ...common, cursor, cursorType: await snapshot.cursorType({ ...query, cursor }) }
}
