import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterEach, expect, it, vi } from 'vitest'
import { removeOld } from '../../src/db/housekeeping/remove-old.ts'
import { endedTasks, receiverStanding, webhookTrust } from '../../src/db/webhooks/webhook-records.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../src/pipeline/push/look-at-submission.ts'
import { finishWithReport } from '../../src/pipeline/report/finish-with-report.ts'
import { daysBefore } from '../../src/pipeline/report/reckon-age.ts'
import { newestTold, scoreOf } from '../../src/pipeline/webhook-score.ts'
import { areWebhooksOnTime } from '../../src/pipeline/when-to-look.ts'
import { contract } from '../exchange/test-client.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { json, service } from '../pipeline/push/service.ts'
import { applicationEvent, bulkEvent, deliver, openInbox, secret, testEvent } from './inbox-world.ts'

const world = await ofThisFile(openInbox())
afterEach(() => world.clear())

const patience = { timeout: 60_000, interval: 50 }
const db = () => world.ferry.ledger.db

/** Tasks of ours that ended `minutesAgo` after so long, told of `lagSeconds` later; null: not at all. */
async function ended(count: number, lagSeconds: number | null, minutesAgo = 30, tookMinutes = 0): Promise<void> {
  const at = new Date(Date.now() - minutesAgo * 60_000)
  const attempted_at = new Date(at.getTime() - tookMinutes * 60_000)
  for (let made = 0; made < count; made++) {
    const submission_id = await world.submission('settled', randomUUID())
    await db()
      .updateTable('submission')
      .set({ attempted_at, accepted_at: at, terminal_at: at })
      .where('submission_id', '=', submission_id)
      .execute()
    if (lagSeconds === null) continue
    const { id: event_id, body: payload } = bulkEvent(randomUUID())
    const first_at = new Date(at.getTime() + lagSeconds * 1000)
    const done = { state: 'done', effect: 'ended', ends: true } as const
    await db()
      .insertInto('webhook_event')
      .values({ event_id, payload, submission_id, first_at, ...done })
      .execute()
  }
}

/** A receiver was heard of a moment ago, and began `minutesAgo`. */
async function heardOf(minutesAgo: number): Promise<void> {
  const since = new Date(Date.now() - minutesAgo * 60_000)
  await db().insertInto('webhook_receiver').values({ since, heard_at: new Date() }).execute()
}

/** A receiver that listens for an hour already. */
async function listening(): Promise<{ url: string }> {
  await heardOf(60)
  return await world.listen()
}

const trusted = async () => (await webhookTrust(db(), 0)).onTime
const becomes = (expected: boolean) => vi.waitFor(async () => expect(await trusted()).toBe(expected), patience)

it('webhooks are trusted once they told of five tasks, and not any longer after two were lost', async () => {
  await ended(5, -1)
  await listening()
  await becomes(true)
  await ended(1, null, 20)
  await becomes(false)
  await ended(19, 30, 15)
  await becomes(true)
  await ended(2, 400, 10)
  await becomes(false)
}, 90_000)

it('webhooks are not trusted when the receiver was not heard of for more than a minute', async () => {
  await ended(5, -1)
  await listening()
  await becomes(true)
  await world.stopListening()
  expect(await trusted()).toBe(true)
  await db()
    .updateTable('webhook_receiver')
    .set({ heard_at: new Date(Date.now() - 61_000) })
    .execute()
  expect(await trusted()).toBe(false)
  await world.listen()
  // What ended during the silence could be told to nobody, so it begins again.
  await vi.waitFor(async () => {
    const { since, trusted: stored } = await db().selectFrom('webhook_receiver').selectAll().executeTakeFirstOrThrow()
    expect([Date.now() - since.getTime() < 60_000, stored]).toEqual([true, false])
  }, patience)
})

it('a receiver that began while the clock was ahead begins when it is right again, and is not heard of meanwhile', async () => {
  const ahead = new Date(Date.now() + 365 * 86_400_000)
  await db().insertInto('webhook_receiver').values({ since: ahead, heard_at: ahead, trusted: true }).execute()
  expect([await trusted(), (await receiverStanding(db()))?.listening]).toEqual([false, false])
  await db().updateTable('webhook_receiver').set({ heard_at: new Date() }).execute()
  await world.listen()
  await vi.waitFor(async () => {
    const { rows } = await sql`select from webhook_receiver where since <= clock_timestamp()`.execute(db())
    expect(rows).toHaveLength(1)
  }, patience)
  await ended(5, -1, 0)
  await becomes(true)
})

const dayMinutes = 24 * 60
const keepDays = 31

it('tasks whose events may be removed by now say nothing, so that webhooks stay trusted where tasks are few', async () => {
  await heardOf(100 * dayMinutes)
  for (let week = 0; week < 14; week++) await ended(3, 30, (1 + 7 * week) * dayMinutes)
  // The next night found this end, a day after the event came.
  await ended(1, -dayMinutes * 60, (keepDays - 0.5) * dayMinutes)
  const before = newestTold(await endedTasks(db(), 200, keepDays))
  await removeOld(db(), 'webhook_events', daysBefore(keepDays, new Date()))
  const tasks = await endedTasks(db(), 200, keepDays)
  expect(scoreOf(tasks)).toMatchObject({ onTime: 15, late: 0, lost: 0 })
  expect(newestTold(tasks)).toEqual(before)
  expect(areWebhooksOnTime(newestTold(tasks))).toBe(true)
  await world.listen()
  await becomes(true)
})

it('tasks that were sent before the receiver began again say nothing, though their ends were found since', async () => {
  await heardOf(30)
  await ended(6, null, 20, 15)
  await ended(1, null, 10, 15)
  await ended(1, 10, 10, 15)
  expect(scoreOf(await endedTasks(db(), 200, keepDays))).toMatchObject({ onTime: 1, late: 0, lost: 1 })
})

const pollIntervalMs = 15_000

/** Looks at a request whose task goes on, after so many polls. @returns when the next look is due. */
async function nextPoll(
  polls: number,
  settings: Partial<Deps['config']['webhooks']> = {},
  id?: number,
): Promise<number> {
  const correlationId = randomUUID()
  const submissionId = id ?? (await world.submission('accepted', correlationId))
  const { correlation_id } = await world.ferry.submission(submissionId)
  const path = contract.endpoints.task.path.replace('{correlationId}', correlation_id ?? '')
  const { correlationId: idName, status } = contract.names.task
  const going = { [idName]: correlation_id, [status]: contract.taskStatuses.inProgress }
  await using server = await service({ [path]: [json(going)] })
  await using deps = world.ferry.deps(server.url)
  const webhooks = { ...deps.config.webhooks, secrets: [secret], ...settings }
  await db()
    .updateTable('submission')
    .set({ polls, accepted_at: world.ferry.clock.at })
    .where('submission_id', '=', submissionId)
    .execute()
  await world.ferry.asked()
  await lookAtSubmission({ ...deps, config: { ...deps.config, webhooks } }, submissionId)
  const [next] = await world.ferry.asked()
  // All intervals here are multiples of it; the moments between are those of a machine that may be busy.
  return Math.round((next?.inMs ?? 0) / 2_500) * 2_500
}

it('a task is polled less often while webhooks are on time, and as often as ever if they are off, late or lost', async () => {
  expect(await nextPoll(10)).toBe(pollIntervalMs)
  await ended(5, -1)
  const { url } = await listening()
  await becomes(true)
  expect(await nextPoll(10)).toBe(4 * pollIntervalMs)
  expect(await nextPoll(10, { maxPollIntervalMs: 20_000 })).toBe(20_000)
  expect(await nextPoll(10, { pollStretch: 1 })).toBe(pollIntervalMs)
  expect(await nextPoll(10, { secrets: [] })).toBe(pollIntervalMs)
  expect(await nextPoll(1)).toBe(pollIntervalMs / 2)

  const correlationId = randomUUID()
  const told = await world.submission('accepted', correlationId)
  await deliver(url, bulkEvent(correlationId))
  await vi.waitFor(async () => expect((await webhookTrust(db(), told)).told).toBe(true), patience)
  expect(await nextPoll(10, {}, told)).toBe(pollIntervalMs)

  await ended(2, null, 20)
  await becomes(false)
  expect(await nextPoll(10)).toBe(pollIntervalMs)
}, 90_000)

it('events are forgotten by the report of a run when they are old, those of applications for as long as is wanted, and open ones never', async () => {
  const { url } = await world.listen()
  for (const event of [testEvent(), applicationEvent(randomUUID(), 'Approved'), bulkEvent(randomUUID())]) {
    expect(await deliver(url, event)).toBe(204)
  }
  await world.done(3)
  await world.stopListening()
  await db()
    .updateTable('webhook_event')
    .set({ first_at: new Date(Date.now() - 40 * 86_400_000) })
    .execute()
  await world.submission('sending')
  await db()
    .updateTable('webhook_event')
    .set({ state: 'waiting', effect: null })
    .where('effect', '=', 'not_ours')
    .execute()
  await using deps = world.ferry.deps('http://127.0.0.1:9')
  const reported = async (keepApplicationDays: number) => {
    const webhooks = { ...deps.config.webhooks, keepApplicationDays }
    const exchange = { ...deps.exchange, serviceTime: () => new Date() }
    const run = await db().selectFrom('run').selectAll().executeTakeFirstOrThrow()
    await finishWithReport({ ...deps, exchange, config: { ...deps.config, webhooks }, now: () => new Date() }, run)
    return (await world.stored()).map(({ effect }) => effect)
  }
  expect(await reported(0)).toEqual(['kept', null])
  expect(await reported(39)).toEqual([null])
})
