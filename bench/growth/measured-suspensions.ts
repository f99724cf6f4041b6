import { requirementsOf } from '../../src/config/require-settings.ts'
import { settings } from '../../src/config/schema.ts'
import { createDatabase, withSession } from '../../src/db/database.ts'
import { parkedGroups } from '../../src/db/ledger/parked-groups.ts'
import { planKind } from '../../src/db/ledger/plan-kind.ts'
import { causesOfRows } from '../../src/db/ledger/rows-in-state.ts'
import { rowsToGo } from '../../src/db/ledger/rows-to-go.ts'
import { statusCounts } from '../../src/db/ledger/status-counts.ts'
import { listSuspensions, releaseResumed } from '../../src/db/ledger/suspended-hotels.ts'
import { needsOf } from '../../src/db/nights/night-facts.ts'
import { streamReports } from '../../src/db/runs/report-rows.ts'
import { beginPilot, resumeHotels, suspendHotels } from '../../src/pipeline/actions/suspend-hotels.ts'
import { landRows } from '../../src/pipeline/delta/landing/land-rows.ts'
import { createStage, stagedLine, stageRows } from '../../src/pipeline/delta/landing/stage-rows.ts'
import { openExplainedPool } from './explained-pool.ts'
import { isToldAlways, type Knowledge, openLedgerWorld } from './ledger-world.ts'
import { answersOf, propertiesOf } from './partner-rows.ts'
import type { StatementWork } from './statement-work.ts'

const requires = { ...requirementsOf(settings.parse({})), properties: [], framework_answers: ['properties'] }
const by = { actor: { user: 'ada', host: 'ferry' }, at: new Date(), reason: 'not yet', unknown: false }

/**
 * Every statement that suspends half of the hotels, looks at what waits, plans, reports, sends only the others, and
 * resumes them, with `rows` answers of a tenth as many hotels.
 */
export async function measureSuspensions(url: string, rows: number, knows: Knowledge): Promise<StatementWork[]> {
  const { pool, during, statements } = await openExplainedPool(url)
  try {
    const world = await openLedgerWorld(pool)
    const db = createDatabase(pool)
    if (knows === 'empty') await world.analyze()
    const runId = await world.startRun()
    for (const [stream, landed] of [
      ['properties', propertiesOf(rows)],
      ['framework_answers', answersOf(rows, 0)],
    ] as const) {
      await world.noteStream(runId, stream)
      await withSession(pool, ({ client, db: session }) =>
        session.transaction().execute(async (trx) => {
          await createStage(trx)
          await stageRows(
            client,
            landed.map((row, ordinal) => stagedLine({ ...row, ordinal, reason: null })),
          )
          await landRows(trx, { runId, stream, foldedKey: undefined, judgedBy: 1, guard: async () => false })
        }),
      )
    }
    if (knows !== 'none' && knows !== 'empty') await world.analyze()
    const hotels = propertiesOf(rows).map(({ partnerId }) => partnerId)
    const suspended = hotels.filter((_, index) => index % 2 === 0)
    const stage = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      if (isToldAlways(knows)) await world.analyze(knows)
      return await during(name, work)
    }
    const look = async (when: string) => {
      await stage(`hotels, ${when}`, () => listSuspensions(db, 100))
      await stage(`hotels further on, ${when}`, () => listSuspensions(db, 100, suspended[suspended.length >> 1]))
      await stage(`status, ${when}`, () => statusCounts(db, requires))
      await stage(`tonight, ${when}`, async () => {
        await needsOf(db, requires)
        await causesOfRows(db, 'parked', { requires, limit: 10 })
        await parkedGroups(db, requires, {}, 10, 'short')
      })
      await stage(`rows to go, ${when}`, () => rowsToGo(db, runId, requires, Object.keys(requires), []))
      await stage(`report, ${when}`, () => db.transaction().execute((trx) => streamReports(trx, runId, requires)))
    }
    await stage('suspension', () => suspendHotels(db, { hotels: suspended, ...by }))
    await look('suspended')
    await stage('planning beside suspended hotels', () =>
      db.transaction().execute((trx) => {
        const ofKind = { kind: 'company_mappings', streams: ['properties'], kindStreams: ['properties'] }
        const size = { maxRows: 2 * rows, requests: 1, sweep: true }
        return planKind(trx, { runId, ...ofKind, requires, partitionBy: null, judgesProperties: false, ...size })
      }),
    )
    await stage('resumption', () => resumeHotels(db, { hotels: suspended, ...by }))
    await look('resumed')
    await stage('release of resumed hotels', () => releaseResumed(db))
    await stage('pilot', () => beginPilot(db, { hotels: suspended, ...by }))
    await look('in a pilot')
    return statements()
  } finally {
    await pool.end()
  }
}
