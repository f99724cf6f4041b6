import { hostname } from 'node:os'
import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import { startEngine } from '../../src/jobs/engine.ts'
import type { Job } from '../../src/jobs/job.ts'
import { type Deps, StopRun, type Yields } from '../../src/pipeline/deps.ts'
import { keyFingerprint } from '../../src/pipeline/gate/shared-gate.ts'
import { lookAtPage } from '../../src/pipeline/pull/look-at-page.ts'
import { searchKind } from '../../src/pipeline/streams/kind-names.ts'
import { patience } from '../helpers/patience.ts'
import { atWork, config, ended, ending, engines, ferry, jobOf, newestRun, step, withEngines } from './working-engine.ts'

withEngines()

const serviceUrl = 'http://127.0.0.1:9'
const stopped = (code: string) => (): Promise<never> => Promise.reject(new StopRun(code, 'not with what is set here'))
const unauthorized = stopped('exchange_unauthorized')

/** Waits until a process has failed at a look, which the queue hands out again. */
async function lookIsLeft(): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await sql`
      select from nightferry_queue.job where name = 'look-at-run' and state = 'retry'`.execute(ferry.ledger.db)
    expect(rows).toHaveLength(1)
  }, patience)
}

/** A run that a person or the schedule began, and of which nobody has looked at anything yet. */
async function begun(deps: Deps, job: Job, trigger: 'schedule' | 'cli'): Promise<void> {
  await ferry.ledger.db.transaction().execute(async (trx) => {
    const run = await trx
      .insertInto('run')
      .values({ job: job.name, trigger, state: 'running', step: job.steps[0].name, scheduled_for: new Date() })
      .returning('run_id')
      .executeTakeFirstOrThrow()
    await deps.looks.atRun(trx, run.run_id)
  })
}

describe('a process that was started for another run', () => {
  const night = jobOf(
    step('first', async () => 'done'),
    ending,
  )
  const failing = (code: string) => jobOf(step('first', stopped(code)), ending)

  it.each<[string, 'schedule' | 'cli', Job]>([
    ['a job that it does not know', 'schedule', { ...night, name: 'housekeeping' }],
    ['a step that it does not know', 'schedule', jobOf(ending)],
    ['a key that is refused', 'schedule', failing('exchange_unauthorized')],
    ['a query that fails', 'schedule', failing('partner_query_failed')],
    ['a service that it cannot reach, though a person waits for the run elsewhere', 'cli', failing('exchange_failed')],
  ])('leaves a night to the daemon that works on it, at %s', async (_, trigger, theirs) => {
    await using verb = await atWork(theirs, serviceUrl, config, 'all')
    await begun(verb, night, trigger)
    await lookIsLeft()
    expect(await newestRun()).toMatchObject({ state: 'running', step: 'first' })
    await engines.pop()?.stop()
    await using _daemon = await atWork(night, serviceUrl, config, 'foreign')
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('counts no page of that night as failed that it cannot load', async () => {
    await using deps = { ...ferry.deps(serviceUrl), config }
    await begun(deps, night, 'schedule')
    const { run_id } = await newestRun()
    const { submission_id } = await deps.db
      .insertInto('submission')
      .values({ run_id, kind: searchKind, state: 'settled', row_count: 0 })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    const { page_id } = await deps.db
      .insertInto('search_page')
      .values({ submission_id, ordinal: 0, url: 'ftp://elsewhere/page', state: 'listed' })
      .returning('page_id')
      .executeTakeFirstOrThrow()
    const page = () => deps.db.selectFrom('search_page').select(['state', 'failures']).executeTakeFirstOrThrow()
    const look = (yields: Yields) => lookAtPage(deps, page_id, { yields: () => yields })
    await expect(look('all')).rejects.toMatchObject({ code: 'download_refused' })
    expect(await page()).toEqual({ state: 'listed', failures: 0 })
    await look('foreign')
    expect(await page()).toEqual({ state: 'failed', failures: 1 })
  })
})

describe('of two daemons one without the driver of the partner database', () => {
  const without = jobOf(step('first', stopped('partner_driver_missing')), ending)
  const night = jobOf(
    step('first', async () => 'done'),
    ending,
  )

  it('leaves a night to the one that has it', async () => {
    await using lacking = await atWork(without, serviceUrl, config, 'foreign')
    await begun(lacking, night, 'schedule')
    await lookIsLeft()
    await engines.pop()?.stop()
    await using _has = await atWork(night, serviceUrl, config, 'foreign')
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('ends a night that no other has done, and names itself', async () => {
    await using lacking = await atWork(without, serviceUrl, config, 'foreign')
    await begun(lacking, night, 'schedule')
    expect(await ended()).toMatchObject({
      failure: {
        code: 'partner_driver_missing',
        message: expect.stringContaining(`. The process on ${hostname()} lacks it`),
      },
    })
  })
})

describe('a process whose key the service refuses', () => {
  const [oldKey, newKey] = ['the-old-key', 'the-new-key']
  const oldPrint = keyFingerprint(oldKey, serviceUrl)
  const newPrint = keyFingerprint(newKey, serviceUrl)
  const refused = jobOf(step('first', unauthorized), ending)
  const accepted = jobOf(
    step('first', async () => 'done'),
    ending,
  )

  /** A daemon that works with a key. */
  async function daemon(key: string, job: Job): Promise<Deps> {
    const engine = await startEngine(ferry.ledger.url, config, () => {}, keyFingerprint(key, serviceUrl))
    engines.push(engine)
    const base = ferry.deps(serviceUrl)
    const required = { ...base.required, apiKey: key }
    const deps = { ...base, required, config, looks: engine.looks, now: () => new Date() }
    await engine.work(deps, [job], { yields: () => 'foreign' })
    return deps
  }
  /** One that has this key and has not taken a look yet. */
  async function idle(key: string): Promise<void> {
    engines.push(await startEngine(ferry.ledger.url, config, () => {}, keyFingerprint(key, serviceUrl)))
  }
  const open = (fingerprint: string) =>
    sql`insert into service_key (fingerprint, open_since, probe_at) values (${fingerprint}, now(), now())`.execute(
      ferry.ledger.db,
    )

  it('leaves a night to a daemon with another key, also one that was never used before', async () => {
    await idle(newKey)
    const old = await daemon(oldKey, refused)
    await begun(old, accepted, 'schedule')
    await lookIsLeft()
    expect(await newestRun()).toMatchObject({ state: 'running' })
    await engines.pop()?.stop()
    await daemon(newKey, accepted)
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('ends the night at once where no other is at work, and names itself and its key', async () => {
    const old = await daemon(oldKey, refused)
    await begun(old, refused, 'schedule')
    const { failure } = await ended()
    expect(failure).toMatchObject({
      code: 'exchange_unauthorized',
      message: expect.stringContaining(`The process on ${hostname()} has the refused key (fingerprint ${oldPrint})`),
    })
    const { rows } = await sql<{ retries: number }>`
      select retry_count as retries from nightferry_queue.job where name = 'look-at-run'`.execute(ferry.ledger.db)
    expect(rows).toEqual([{ retries: 0 }])
  })

  it.each<[string, () => Promise<unknown>]>([
    ['works with the same key', () => idle(oldKey)],
    ['only asks for looks', async () => engines.push(await startEngine(ferry.ledger.url, config, () => {}))],
    ['has a key that the service refuses as well', () => Promise.all([idle(newKey), open(newPrint)])],
    [
      'has the key of another destination',
      async () => {
        await idle(newKey)
        await sql`
          with other as (
            insert into destination (name, schema_name, left_at) values ('other', 'other', now()) returning destination_id)
          insert into destination_key (destination_id, fingerprint, profile_certainty)
          select destination_id, ${newPrint}, 'told' from other`.execute(ferry.ledger.db)
      },
    ],
  ])('ends the night at once where the other process %s', async (_, other) => {
    await other()
    const old = await daemon(oldKey, refused)
    await begun(old, refused, 'schedule')
    expect(await ended()).toMatchObject({ state: 'failed', failure: { code: 'exchange_unauthorized' } })
    const { rows } = await sql<{ retries: number }>`
      select retry_count as retries from nightferry_queue.job where name = 'look-at-run'`.execute(ferry.ledger.db)
    expect(rows).toEqual([{ retries: 0 }])
  })
})
