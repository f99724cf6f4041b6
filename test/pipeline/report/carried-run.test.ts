import { beforeEach, expect, it } from 'vitest'
import { finishWithReport } from '../../../src/pipeline/report/finish-with-report.ts'
import { judgeFreshness, newestCarried } from '../../../src/pipeline/report/standing.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** A night that sent so many properties, all with one outcome, and has ended with its report. */
async function night(rows: number, outcome: 'confirmed' | 'rejected') {
  await using deps = ferry.deps('http://127.0.0.1:9')
  const { db } = ferry.ledger
  const landed = Array.from({ length: rows }, (_, at) => ({ partner_id: `H-${at}`, content: { code: outcome } }))
  await ferry.ledger.settleAll(await ferry.planned(deps, 'properties', landed), outcome)
  const run = await db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
  await finishWithReport(deps, run)
  const ended = await db
    .selectFrom('run')
    .select(['run_id', 'job', 'verdict', 'carried', 'report'])
    .where('run_id', '=', run.run_id)
    .executeTakeFirstOrThrow()
  const { remarks } = ended.report as unknown as { remarks: string[] }
  const fresh = judgeFreshness(await newestCarried(db, [ended.job]), new Date(), 86_400_000)
  return { ...ended, remarks, fresh: fresh.fresh }
}

it('a run of which the service took nothing says so, and keeps the data from being fresh', async () => {
  const { carried, verdict, remarks, fresh } = await night(12, 'rejected')
  expect({ carried, verdict, fresh }).toEqual({ carried: false, verdict: 'partial', fresh: false })
  expect(remarks[0]).toBe(
    'This run does not count as one that carried the data through: the service took 0 of 12 rows.',
  )
})

it('a run whose rows were rejected before, and were tried again by the settings, carried the data through', async () => {
  await night(12, 'rejected')
  await ferry.ledger.pool.query(
    'update acceptance set refused_hash = null, resent_hash = wanted_hash, resent_count = 1',
  )
  expect(await night(12, 'rejected')).toMatchObject({ carried: true, verdict: 'partial', fresh: true })
})

it('a run of which the service took all, or whose few rows it rejected, carried the data through', async () => {
  expect(await night(12, 'confirmed')).toMatchObject({ carried: true, remarks: [], fresh: true })
  expect(await night(3, 'rejected')).toMatchObject({ carried: true, verdict: 'partial', fresh: true })
})
