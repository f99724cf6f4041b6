import { beforeEach, describe, expect, it } from 'vitest'
import { streamReports } from '../../../../src/db/runs/report-rows.ts'
import { adoptUnfinished } from '../../../../src/db/runs/run-life.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { countPending } from '../../../../src/pipeline/preflight/preflight.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { imbalances } from '../../../../src/pipeline/report/report.ts'
import { searchKinds } from '../../../../src/pipeline/streams/kind-names.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { openFerry } from '../ferry.ts'
import { ids } from '../rows.ts'
import { json, reset, service } from '../service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v2/bulk/framework-answers/upsert'
const list = '/api/v2/bulk/tasks'
const path = `${list}/${correlationId}`
const stream = 'framework_answers'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const answer = (value: string) => ({
  partner_id: 'H-1',
  row_key: 'a',
  content: { period_type: 'Yearly', year: '2025', month: '1', data_point_id: ids.number, value, value_type: 'number' },
})
const row = () => ferry.ledger.row(stream, 'a')
const named = json({
  correlationId,
  status: 'Success',
  error: { rowErrors: [{ identifiedByValue: 'H-1', reason: 'OutOfRange', message: 'Too much.' }] },
})
const bare = json({ correlationId, status: 'Error' })

/** A changed row of an accepted one, sent, with the answer lost as often as the service does not answer. */
async function changed(deps: Deps): Promise<number> {
  await ferry.ledger.landChecked(stream, [answer('1')], true)
  return await ferry.planned(deps, stream, [answer('2')])
}

/** Looks until the submission has ended. */
async function ends(deps: Deps, id: number): Promise<void> {
  for (let look = 0; look < 10 && (await ferry.submission(id)).settled_at === null; look++) {
    await lookAtSubmission(deps, id)
    ferry.clock.pass(3_600_000)
  }
  expect(await ferry.submission(id)).toMatchObject({ state: 'settled' })
}

/** Whether the content that was accepted before is sent again once the partner has gone back to it. */
async function goesOutAgain(deps: Deps): Promise<boolean> {
  await ferry.ledger.landChecked(stream, [answer('1')])
  const { pending } = await row()
  await ferry.ledger.startRun()
  expect(await ferry.wave(deps)).toBe(pending)
  return pending
}

describe('a rejected row that changes back to what was accepted before', () => {
  it.each([
    ['a request that was sent again over a lost answer is named by it', [reset, json({ correlationId })], named, true],
    ['it is named by a request that was sent once', [json({ correlationId })], named, false],
    ['it was alone in a request that ended in Error without a word', [json({ correlationId })], bare, true],
  ])(
    'a rejected row that changes back goes out again exactly where it may be taken: %s',
    async (_, sends, task, again) => {
      await using server = await service({ [post]: [...sends], [list]: [json([])], [path]: [task] })
      await using deps = ferry.deps(server.url)
      await ends(deps, await changed(deps))
      const rejected = await row()
      expect(rejected).toMatchObject({ outcome: 'rejected', refused_hash: rejected.desired_hash, pending: true })
      await ferry.ledger.startRun()
      expect(await ferry.wave(deps), 'what was rejected stays kept out').toBe(false)
      expect(await goesOutAgain(deps)).toBe(again)
    },
  )

  it('a rejected row that changed back in flight, and may be taken, counts once in the report of its night', async () => {
    await using server = await service({ [post]: [json({ correlationId })], [path]: [bare] })
    await using deps = ferry.deps(server.url)
    const id = await changed(deps)
    await lookAtSubmission(deps, id)
    const run = await ferry.ledger.startRun()
    await ferry.ledger.inTransaction((trx) => adoptUnfinished(trx, run, searchKinds))
    await ferry.ledger.landChecked(stream, [answer('1')])
    const counts = { read: 1, folded: 0, unchanged: 0, changed: 1, null_cursor: 0 }
    await ferry.ledger.db
      .insertInto('run_stream')
      .values({
        run_id: run,
        stream,
        ...counts,
        protection: 'transactions',
        pending: null,
        watermark_before: null,
        watermark_after: null,
      })
      .execute()
    await countPending(ferry.ledger.db, run)
    await ends(deps, id)
    expect(await ferry.wave(deps)).toBe(true)
    const { submission_id: second } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .where('state', '=', 'planned')
      .executeTakeFirstOrThrow()
    await ferry.ledger.settleAll(second, 'confirmed')
    expect(await ferry.wave(deps)).toBe(false)
    const reports = await ferry.ledger.inTransaction((trx) => streamReports(trx, run, {}))
    expect(imbalances(reports)).toEqual([])
    expect(reports).toMatchObject([{ stream, pending: 1, sent: 1, confirmed: 1, rejected: 0 }])
  })
})
