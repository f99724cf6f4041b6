import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Config } from '../../src/config/schema.ts'
import type { RunAsked, Verdict } from '../../src/db/tables/run-tables.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import type { Message } from '../../src/pipeline/notify/message.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import type { ScriptedService } from '../pipeline/push/service.ts'

/** Of the file that runs. */
export let ferry: Ferry
let plain: Deps & AsyncDisposable

/** The tests of the file that calls it have a ledger in which nobody was told anything, at two in the morning. */
export function withNews(): void {
  beforeAll(async () => {
    ferry = await openFerry()
    plain = ferry.deps('http://127.0.0.1:9')
  })
  beforeEach(async () => {
    await ferry.clear()
    ferry.clock.at = new Date('2026-11-21T02:00:00Z')
    await ferry.ledger.db.deleteFrom('notification').execute()
    await ferry.ledger.db.deleteFrom('notification_mark').execute()
  })
  afterAll(async () => {
    await plain[Symbol.asyncDispose]()
    await ferry.close()
  })
}

export const hook = '/hooks/T0/secret-of-the-hook'

/** As for a ferry whose people are told at a hook of this server. */
export function depsFor(server: ScriptedService, settings: Partial<Config['notify']> = {}): Deps {
  const notify = { ...plain.config.notify, url: `${server.url}${hook}`, ...settings }
  const jobs = {
    ...plain.config.jobs,
    'nightly-sync': { schedule: '30 2 * * *', timeZone: 'UTC', missed: 'once' as const, finishBy: '03:30' },
  }
  return { ...plain, config: { ...plain.config, notify, jobs }, now: () => ferry.clock.at }
}

/** A run of the night that has ended, and took a minute. */
export async function ended(
  verdict: Verdict,
  code?: string,
  asked: RunAsked = {},
  job: string = nightlySync.name,
): Promise<number> {
  const { run_id } = await ferry.ledger.db
    .insertInto('run')
    .values({
      job,
      trigger: 'cli',
      scheduled_for: new Date(ferry.clock.at),
      state: verdict === 'failed' ? 'failed' : 'finished',
      step: 'report',
      verdict,
      asked,
      failure: code === undefined ? null : JSON.stringify({ code, message: 'Words.', step: 'push' }),
      report: code === undefined ? JSON.stringify({ remarks: [], streams: [], held: [], duration_ms: 1 }) : null,
      finished_at: new Date(ferry.clock.at),
    })
    .returning('run_id')
    .executeTakeFirstOrThrow()
  ferry.clock.at = new Date(ferry.clock.at.getTime() + 60_000)
  return run_id
}

export const bodies = (server: ScriptedService) =>
  server.seen.filter(({ path }) => path === hook).map(({ body }) => JSON.parse(body.toString()) as Message)
export const events = (server: ScriptedService) => bodies(server).map(({ event }) => event)
export const stored = () => ferry.ledger.db.selectFrom('notification').selectAll().orderBy('notification_id').execute()
