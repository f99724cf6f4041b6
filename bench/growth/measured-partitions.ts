import { createDatabase, type Database, withSession } from '../../src/db/database.ts'
import { considerEnded } from '../../src/db/ledger/candidates.ts'
import { planKind } from '../../src/db/ledger/plan-kind.ts'
import { settleRows } from '../../src/db/ledger/settle-outcomes.ts'
import { landRows } from '../../src/pipeline/delta/landing/land-rows.ts'
import { createStage, stagedLine, stageRows } from '../../src/pipeline/delta/landing/stage-rows.ts'
import { openExplainedPool } from './explained-pool.ts'
import { isToldAlways, type Knowledge, type LedgerWorld, openLedgerWorld } from './ledger-world.ts'
import { type PartnerRow, partnerIdOf } from './partner-rows.ts'
import type { StatementWork } from './statement-work.ts'

/** Requests are larger than a partition, so that none fills one, as in a night of many frameworks. */
const maxRows = 1_000
const rowsOfHotel = 100
const rowsOfPartition = 100
const stream = 'framework_answers'
const kind = { kind: stream, streams: [stream] }

/** How rows lie in partitions, of which there is one for a hundred rows. */
const layouts = {
  'a framework for each hotel': (hotel: number, _: number, partitions: number) => hotel % partitions,
  'all frameworks for each hotel': (hotel: number, row: number, partitions: number) => (hotel + row) % partitions,
  'one row in ten of each framework': (hotel: number, row: number, partitions: number) =>
    row % 10 === 0 ? 0 : (hotel * rowsOfHotel + row) % partitions,
} as const

/**
 * Every statement that plans and settles `rows` answers, request after request until none is left, where they are spread
 * over a hundredth as many frameworks.
 */
export async function measurePartitions(url: string, rows: number, knows: Knowledge): Promise<StatementWork[]> {
  const { pool, during, statements } = await openExplainedPool(url)
  try {
    const world = await openLedgerWorld(pool)
    const db = createDatabase(pool)
    for (const [name, partitionOf] of Object.entries(layouts)) {
      const runId = await world.startRun()
      await world.forgetStreams([stream])
      if (knows === 'empty') await world.analyze()
      await withSession(pool, ({ client, db: session }) =>
        session.transaction().execute(async (trx) => {
          await createStage(trx)
          const lines = spread(rows, partitionOf).map((row, ordinal) => stagedLine({ ...row, ordinal, reason: null }))
          await stageRows(client, lines)
          await landRows(trx, { runId, stream, foldedKey: undefined, judgedBy: 1, guard: async () => false })
        }),
      )
      if (isToldAlways(knows)) await world.analyze(knows)
      await sendAll(db, world, runId, (stage, work) => during(`${stage}, ${name}`, work))
    }
    return statements()
  } finally {
    await pool.end()
  }
}

function spread(rows: number, partitionOf: (hotel: number, row: number, partitions: number) => number): PartnerRow[] {
  return Array.from({ length: rows }, (_, index) => {
    const [hotel, row] = [Math.floor(index / rowsOfHotel), index % rowsOfHotel]
    const partnerId = partnerIdOf(hotel)
    const framework_id = `framework ${partitionOf(hotel, row, rows / rowsOfPartition)}`
    return { partnerId, rowKey: `${partnerId} ${row}`, content: { framework_id, value: String(index) } }
  })
}

async function sendAll(
  db: Database,
  world: LedgerWorld,
  runId: number,
  during: <T>(stage: string, work: () => Promise<T>) => Promise<T>,
): Promise<void> {
  for (let sweep = true; ; sweep = false) {
    const ids = await during('planning of many requests', () =>
      db.transaction().execute(async (trx) => {
        await considerEnded(trx, runId, [kind], {})
        const options = { runId, ...kind, kindStreams: kind.streams, requires: {}, judgesProperties: false }
        return await planKind(trx, { ...options, partitionBy: 'framework_id', maxRows, requests: 1, sweep })
      }),
    )
    if (ids.length === 0) return
    for (const id of ids) {
      await world.accept(id)
      await during('settlement of many requests', () =>
        db.transaction().execute((trx) => settleRows(trx, id, true, async () => ({ outcome: 'confirmed' }))),
      )
      await world.end(id)
    }
  }
}
