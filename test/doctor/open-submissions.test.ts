import { expect, it } from 'vitest'
import type { SubmissionState } from '../../src/db/tables/submission-tables.ts'
import { serviceChecks } from '../../src/doctor/exchange-checks.ts'
import type { Found, Ward } from '../../src/doctor/ward.ts'
import { requestElsewhere } from '../db/ledger/ledger.ts'
import { ferry, withNews } from '../jobs/news-world.ts'

withNews()

async function found(): Promise<Found[]> {
  await using deps = ferry.deps('http://127.0.0.1:9')
  const ward = {
    now: () => ferry.clock.at,
    config: () => Promise.resolve(deps.config),
    ledger: () => Promise.resolve({ db: ferry.ledger.db }),
  } as unknown as Ward
  return (await serviceChecks.find(({ id }) => id === 'open_submissions')?.run(ward)) ?? []
}

const minutesAgo = (minutes: number) => new Date(ferry.clock.at.getTime() - minutes * 60_000)

type Request = { uncertain_since?: Date; overdue_since?: Date }

async function request(state: SubmissionState, given: Request = {}): Promise<number> {
  const { submission_id } = await ferry.ledger.db
    .insertInto('submission')
    .values({ run_id: await ferry.ledger.startRun(), kind: 'mappings', state, row_count: 1, ...given })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  return submission_id
}

it('a request whose answer was just lost resolves itself, and the advice begins once it has not', async () => {
  const lost = await request('uncertain', { uncertain_since: minutesAgo(14) })
  expect(await found()).toEqual([
    { level: 'ok', what: expect.stringContaining('1 request without an answer'), todo: null },
  ])
  ferry.clock.pass(2 * 60_000)
  const [warned, ...more] = await found()
  expect(more).toEqual([])
  expect(warned).toMatchObject({
    level: 'warning',
    what: expect.stringContaining('1 request without an answer for longer than exchange.giveUpAfterMs'),
    todo: expect.stringContaining(`docs/runbook.md, "A request that is stuck", such as request ${lost}`),
  })
  expect(warned?.todo).not.toContain('abandon')
})

it('a task that took too long may have ended since: a run is to look again before anybody gives it up', async () => {
  await request('accepted', { overdue_since: minutesAgo(5) })
  const [warned, ...more] = await found()
  expect(more).toEqual([])
  expect(warned).toMatchObject({
    level: 'warning',
    what: '1 task had not ended within exchange.taskPatienceMs when a run last looked',
    todo: expect.stringMatching(/^the next run looks again/),
  })
  expect(warned?.todo).not.toMatch(/abandon|cancel/)
})

it('a task that takes too long is the one that is named, not an older request that is uncertain', async () => {
  const givenUp = await request('uncertain', { uncertain_since: minutesAgo(5), overdue_since: minutesAgo(1) })
  const overdue = await request('accepted', { overdue_since: minutesAgo(5) })
  await request('uncertain', { uncertain_since: minutesAgo(1) })
  expect(await found()).toMatchObject([
    { level: 'warning', todo: expect.stringContaining(`"A task that does not end", such as request ${overdue}`) },
    { level: 'warning', todo: expect.stringContaining(`such as request ${givenUp}`) },
  ])
})

it('a request at a destination that is not in use is no concern of the doctor', async () => {
  await using _ = await requestElsewhere(ferry.ledger, { state: 'uncertain' })
  expect(await found()).toMatchObject([{ level: 'ok', what: 'No request waits longer than it should' }])
})
