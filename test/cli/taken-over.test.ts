import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adoptUnfinished, failRun } from '../../src/db/runs/run-life.ts'
import { lookAtSubmission } from '../../src/pipeline/push/look-at-submission.ts'
import { searchKinds } from '../../src/pipeline/streams/kind-names.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import { json, service } from '../pipeline/push/service.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const task = '0b6c2f4e-0000-4000-8000-000000000001'

let ferry: Ferry
let first: number
let next: number
let beside: number

/** A run whose only request is at the service when it fails, housekeeping beside it, and the run after it. */
beforeAll(async () => {
  ferry = await openFerry()
  const { db } = ferry.ledger
  await using server = await service({ '/api/v1/bulk/company-mappings': [json({ correlationId: task })] })
  await using deps = ferry.deps(server.url)
  await ferry.ledger.startRun()
  beside = await ended('housekeeping')
  await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'Zur Brücke' } }])
  await ferry.wave(deps)
  const { submission_id: id } = await db.selectFrom('submission').select('submission_id').executeTakeFirstOrThrow()
  await lookAtSubmission(deps, id)
  const sent = await ferry.submission(id)
  expect(sent.state).toBe('accepted')
  first = sent.run_id
  await failRun(db, first, { code: 'unauthorized', step: 'push', message: 'The service denies the key.' }, new Date())
  next = await ferry.ledger.startRun()
  await ferry.ledger.inTransaction((trx) => adoptUnfinished(trx, next, searchKinds))
})
afterAll(() => ferry.close())

/** A run that begins while the sender's does, and does no more. */
async function ended(job: string): Promise<number> {
  const { run_id } = await ferry.ledger.db
    .insertInto('run')
    .values({ job, trigger: 'cli', scheduled_for: new Date(), state: 'finished', step: '', verdict: 'succeeded' })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  return run_id
}

async function call(...args: string[]) {
  await using folder = await workingFolder()
  return await nightferry(folder.path, args, { DATABASE_URL: ferry.ledger.url })
}

describe('what a run sent and the next one took over', () => {
  const where = () =>
    `1 request of run ${first} went on with run ${next}: nightferry submissions --run ${next} lists it.`

  test('submissions names the run with which it goes on', async () => {
    expect(await call('submissions', '--run', String(first))).toMatchObject({ code: 0, stdout: `${where()}\n` })
    expect((await call('submissions', '--run', String(next))).stdout).toContain(task)
    const asJson = await call('submissions', '--run', String(first), '--json')
    expect(JSON.parse(asJson.stdout)).toEqual([])
    expect(asJson.stderr).toContain(where())
  })

  test('waves names it as well', async () => {
    expect(await call('waves', String(first))).toMatchObject({ code: 0, stdout: `${where()}\n` })
    expect(JSON.parse((await call('waves', String(first), '--json')).stdout)).toMatchObject({
      waves: [],
      taken_over: [{ run_id: next, submissions: 1 }],
    })
  })

  test('housekeeping that ran beside the sender took nothing and sent nothing', async () => {
    expect((await call('submissions', '--run', String(beside))).stdout).toBe(`Run ${beside} sent nothing.\n`)
  })

  test('submissions of a run that sent nothing says so', async () => {
    const last = await ferry.ledger.startRun()
    expect((await call('submissions', '--run', String(last))).stdout).toBe(`Run ${last} sent nothing.\n`)
  })
})
