import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import type { RunTrigger } from '../../src/db/tables/run-tables.ts'
import { AnswerFormatError, HttpError, TransportError } from '../../src/exchange/errors.ts'
import { PartnerDatabaseError } from '../../src/partner/partner-errors.ts'
import { StopRun } from '../../src/pipeline/deps.ts'
import { patience } from '../helpers/patience.ts'
import {
  atWork,
  config,
  ended,
  ending,
  engineOf,
  ferry,
  jobOf,
  newestRun,
  step,
  trigger,
  withEngines,
} from './working-engine.ts'

withEngines()

describe('the engine', () => {
  it('takes a run through its steps in order, each once, however many looks there are', async () => {
    const order: string[] = []
    const note = (name: string) =>
      step(name, async () => {
        order.push(name)
        return 'done'
      })
    const job = jobOf(note('first'), note('second'), ending)
    await using deps = await atWork(job)
    const triggered = await trigger(deps, job)
    const runId = triggered?.run.run_id ?? 0
    await deps.db.transaction().execute(async (trx) => {
      for (let look = 0; look < 3; look++) await deps.looks.atRun(trx, runId)
    })
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
    await vi.waitFor(async () => {
      const { rows } = await sql`
        select from nightferry_queue.job
        where name like 'look-at-%' and state in ('created', 'active', 'retry')`.execute(ferry.ledger.db)
      expect(rows).toEqual([])
    }, patience)
    expect(order).toEqual(['first', 'second'])
  })

  it('goes by the settings of its own start, not by those of the first one', async () => {
    const queues = async () =>
      (
        await sql<{ heartbeat: number; retries: number }>`
          select distinct heartbeat_seconds as heartbeat, retry_limit as retries
          from nightferry_queue.queue where name like 'look-at-%'`.execute(ferry.ledger.db)
      ).rows
    await engineOf()
    const [before] = await queues()
    const exchange = { ...config.exchange, giveUpAfterMs: 14_400_000 }
    await engineOf({ ...config, exchange, engine: { ...config.engine, heartbeatSeconds: 77 } })
    expect(await queues()).toEqual([{ heartbeat: 77, retries: (before?.retries ?? 0) + 239 }])
  })

  it('tries a look that throws again, from the step at which the run stands', async () => {
    const order: string[] = []
    const job = jobOf(
      step('first', async () => {
        order.push('first')
        return 'done'
      }),
      step('second', async () => {
        order.push('second')
        if (order.length < 4) throw new Error('not yet')
        return 'done'
      }),
      ending,
    )
    await using deps = await atWork(job)
    await trigger(deps, job)
    expect(await ended()).toMatchObject({ state: 'finished', failure: null })
    expect(order).toEqual(['first', 'second', 'second', 'second'])
  })

  it('fails the run at last when its look never succeeds, with the message as it was', async () => {
    let looks = 0
    const job = jobOf(
      step('first', async () => {
        looks += 1
        throw new Error('it broke, \0 and again')
      }),
    )
    await using deps = await atWork(job)
    await trigger(deps, job)
    expect(await ended()).toMatchObject({
      state: 'failed',
      verdict: 'failed',
      failure: { code: 'internal_error', message: 'it broke, \\u0000 and again', step: 'first' },
    })
    expect(looks).toBeGreaterThan(5)
  })

  it('fails the run once its end can be written, where it could not be at the last attempt', async () => {
    await sql`
      create sequence end_refused;
      create function refuse_end() returns trigger language plpgsql as $$ begin
        if nextval('end_refused') <= 2 then raise exception 'the disk is full'; end if;
        return new;
      end $$;
      create trigger refuse_end before update of state on run
      for each row when (new.state = 'failed') execute function refuse_end()`.execute(ferry.ledger.db)
    const job = jobOf(
      step('first', async () => {
        throw new Error('it broke')
      }),
    )
    await using deps = await atWork(job)
    await trigger(deps, job)
    expect(await ended()).toMatchObject({ state: 'failed', failure: { message: 'it broke', step: 'first' } })
  })

  const call = { method: 'GET', url: 'http://127.0.0.1:9/' }
  const forbidden = new HttpError(call, { status: 403, errorCode: 'x', serviceMessage: 'm', retryAfterMs: null })
  const unreachable = new TransportError(call, 'ECONNREFUSED', false, null)
  const denied = new TransportError(call, '407', false, Object.assign(new Error('407'), { code: 'proxy_unauthorized' }))
  const html = new AnswerFormatError('the answer is no JSON')
  const slow = new PartnerDatabaseError('partner_query_too_slow', 'The query took longer than a statement may.')
  const tooLong = new AnswerFormatError('the answer is longer than 9 bytes', { tooLong: true })
  it.each<[string, Error, RunTrigger, string]>([
    ['a person has to fix', new StopRun('group_unusable', 'No.'), 'schedule', 'group_unusable'],
    ['the service refuses', forbidden, 'schedule', 'exchange_forbidden'],
    ['a proxy that takes no password of ours', denied, 'schedule', 'proxy_unauthorized'],
    ['would burden the partner again for as long', slow, 'schedule', 'partner_query_too_slow'],
    ['keeps somebody waiting', unreachable, 'cli', 'exchange_unreachable'],
    ['is no answer while somebody waits', html, 'cli', 'exchange_answer_malformed'],
    ['is too long to be read', tooLong, 'schedule', 'exchange_answer_malformed'],
  ])('fails the run at once over what %s', async (_, error, by, code) => {
    let looks = 0
    const job = jobOf(
      step('first', async () => {
        looks += 1
        throw error
      }),
    )
    await using deps = await atWork(job)
    await trigger(deps, job, by)
    expect(await ended()).toMatchObject({ state: 'failed', failure: { code, message: error.message, step: 'first' } })
    expect(looks).toBe(1)
  })

  it.each([
    ['a service that cannot be reached', unreachable],
    ['HTML from a proxy', html],
  ])('tries again after %s when nobody waits', async (_, error) => {
    let looks = 0
    const job = jobOf(
      step('first', async () => {
        looks += 1
        if (looks === 1) throw error
        return 'done'
      }),
      ending,
    )
    await using deps = await atWork(job)
    await trigger(deps, job)
    expect(await ended()).toMatchObject({ state: 'finished' })
  })

  it('fails a run that stands at a step which it does not know', async () => {
    const job = jobOf(ending)
    await using deps = await atWork(job)
    await trigger(deps, jobOf(step('of a newer version', async () => 'done')))
    expect(await ended()).toMatchObject({ state: 'failed', failure: { code: 'step_unknown' } })
  })

  it('goes on with a waiting run when it is asked to look, and not before', async () => {
    let mayGoOn = false
    let looks = 0
    const job = jobOf(
      step('wait', async () => {
        looks += 1
        return mayGoOn ? 'done' : 'waiting'
      }),
      ending,
    )
    await using deps = await atWork(job)
    const triggered = await trigger(deps, job)
    await vi.waitFor(() => expect(looks).toBe(1), patience)
    mayGoOn = true
    expect((await newestRun()).state).toBe('running')
    await deps.db.transaction().execute((trx) => deps.looks.atRun(trx, triggered?.run.run_id ?? 0))
    expect(await ended()).toMatchObject({ state: 'finished' })
    expect(looks).toBe(2)
  })

  it('forgets a look that was asked for in a transaction that was rolled back', async () => {
    const job = jobOf(ending)
    await using deps = await atWork(job)
    const rolledBack = deps.db.transaction().execute(async (trx) => {
      await deps.looks.atRun(trx, 1)
      await deps.looks.atSubmissions(trx, [1, 2])
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await ferry.asked()).toEqual([])
  })

  it('shares one run among several processes without doing a step twice', async () => {
    let working = 0
    let most = 0
    const order: string[] = []
    const busy = (name: string) =>
      step(name, async () => {
        working += 1
        most = Math.max(most, working)
        order.push(name)
        await sql`select pg_sleep(0.05)`.execute(ferry.ledger.db)
        working -= 1
        return 'done'
      })
    const job = jobOf(busy('first'), busy('second'), ending)
    await using one = await atWork(job)
    await using other = await atWork(job)
    await Promise.all([trigger(one, job), trigger(other, job), trigger(one, job), trigger(other, job)])
    expect(await ended()).toMatchObject({ state: 'finished' })
    expect(order).toEqual(['first', 'second'])
    expect(most).toBe(1)
  })
})
