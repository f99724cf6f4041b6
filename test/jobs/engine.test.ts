import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { withSubmissionLock } from '../../src/db/locks/advisory-lock.ts'
import { finishRun } from '../../src/db/runs/end-run.ts'
import type { Run, RunTrigger } from '../../src/db/tables/run-tables.ts'
import { AnswerFormatError, HttpError, TransportError } from '../../src/exchange/errors.ts'
import { type Engine, startEngine } from '../../src/jobs/engine.ts'
import type { Job, Step, StepResult } from '../../src/jobs/job.ts'
import { triggerRun } from '../../src/jobs/trigger-run.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { planWave } from '../../src/pipeline/push/waves/plan-wave.ts'
import { StopRun } from '../../src/pipeline/stop-run.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import { ids } from '../pipeline/push/rows.ts'
import { type Answer, json, refusal, service } from '../pipeline/push/service.ts'

const config = settings.parse({
  exchange: { pollIntervalMs: 100, giveUpAfterMs: 1_000 },
  engine: { jobPollMs: 500 },
  streams: { properties: { query: 'select', cursor: 'x' } },
})

let ferry: Ferry
const engines: Engine[] = []
beforeEach(async () => {
  ferry = await openFerry()
})
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop()
  await ferry.close()
})

const step = (name: string, run: () => Promise<StepResult>): Step => ({ name, run })
const ending: Step = {
  name: 'end',
  run: async (deps, { run_id }) => {
    await deps.db.transaction().execute((trx) => finishRun(trx, run_id, 'succeeded', {}, deps.now()))
    return 'done'
  },
}

/** A process that works off the looks of a job. */
async function atWork(
  job: Job,
  url = 'http://127.0.0.1:9',
  settled = config,
  yields = false,
): Promise<Deps & AsyncDisposable> {
  const engine = await startEngine(ferry.ledger.url, settled, () => {})
  engines.push(engine)
  const deps = { ...ferry.deps(url), config: settled, looks: engine.looks, now: () => new Date() }
  await engine.work(deps, [job], { yields })
  return deps
}
const jobOf = (...steps: [Step, ...Step[]]): Job => ({ name: 'nightly-sync', steps })
const trigger = (deps: Deps, job: Job, by: RunTrigger = 'schedule') => triggerRun(deps, job, by, new Date())

const newestRun = () =>
  ferry.ledger.db.selectFrom('run').selectAll().orderBy('run_id', 'desc').limit(1).executeTakeFirstOrThrow()
const patience = { timeout: 60_000, interval: 50 }
/** The newest run, once it has ended. Looks that were put off are due at once: nobody waits for a back-off here. */
const ended = async (): Promise<Run> =>
  await vi.waitFor(async () => {
    await sql`update nightferry_queue.job set start_after = now() where state = 'retry'`.execute(ferry.ledger.db)
    const run = await newestRun()
    expect(run.state).not.toBe('running')
    return run
  }, patience)

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

  const call = { method: 'GET', url: 'http://127.0.0.1:9/' }
  const forbidden = new HttpError(call, { status: 403, errorCode: 'x', serviceMessage: 'm', retryAfterMs: null })
  const unreachable = new TransportError(call, 'ECONNREFUSED', false, null)
  const html = new AnswerFormatError('the answer is no JSON')
  const tooLong = new AnswerFormatError('the answer is longer than 9 bytes', { tooLong: true })
  it.each<[string, Error, RunTrigger, string]>([
    ['a person has to fix', new StopRun('group_unusable', 'No.'), 'schedule', 'group_unusable'],
    ['the service refuses', forbidden, 'schedule', 'exchange_forbidden'],
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

describe('a submission in the hands of the engine', () => {
  const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
  const task = (status: string): Answer => json({ correlationId, status })
  const pushing: Job = jobOf(
    { name: 'push', run: async (deps, run) => ((await planWave(deps, run)) ? 'waiting' : 'done') },
    ending,
  )
  const post = '/api/v1/bulk/company-mappings'
  const taskPath = `/api/v2/bulk/tasks/${correlationId}`
  const mapped = { companies: [{ id: 'H-1', status: 'Mapped', companyId: ids.company }] }

  async function mappingService(first: Answer[]) {
    let url = ''
    const server = await service({
      [post]: [json({ correlationId })],
      [taskPath]: [
        ...first,
        (response) => json({ correlationId, status: 'Success', file: { url: `${url}/file` } })(response),
      ],
      '/file': [json(mapped)],
    })
    url = server.url
    return server
  }

  it('a submission in the hands of the engine is sent, polled and settled, and ends the run', async () => {
    await using server = await mappingService([task('Pending'), task('InProgress'), task('Pending')])
    await using deps = await atWork(pushing, server.url)
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await trigger(deps, pushing)
    expect(await ended()).toMatchObject({ state: 'finished' })
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ outcome: 'confirmed', held_by: null })
    expect([server.count(post), server.count(taskPath), server.count('/file')]).toEqual([1, 4, 1])
  })

  it('a submission in the hands of the engine is polled when its poll interval is over, however rarely the queue is looked at', async () => {
    await using server = await mappingService([task('Pending'), task('InProgress')])
    await using deps = await atWork(pushing, server.url, {
      ...config,
      engine: { ...config.engine, jobPollMs: 600_000 },
    })
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await trigger(deps, pushing)
    expect(await ended()).toMatchObject({ state: 'finished' })
    expect(server.count(taskPath)).toBe(3)
  })

  it('a submission in the hands of the engine is taken up once the lock of a worker that died goes, though its look came again before', async () => {
    await using server = await mappingService([])
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await using plain = ferry.deps(server.url)
    await trigger(plain, pushing)
    await ferry.asked()
    await ferry.wave(plain)
    const [planned] = await ferry.ledger.db.selectFrom('submission').select('submission_id').execute()
    await sql`update nightferry_queue.job set retry_count = 1, state = 'retry'`.execute(ferry.ledger.db)
    const holder = Promise.withResolvers<void>()
    const held = withSubmissionLock(ferry.ledger.pool, planned?.submission_id ?? 0, () => holder.promise)
    await using _ = await atWork(pushing, server.url)
    await vi.waitFor(async () => {
      const { rows } = await sql`select from nightferry_queue.job where state = 'completed'`.execute(ferry.ledger.db)
      expect(rows).toHaveLength(1)
    }, patience)
    holder.resolve()
    await held
    await sql`update nightferry_queue.job set start_after = now() where state = 'created'`.execute(ferry.ledger.db)
    expect(await ended()).toMatchObject({ state: 'finished' })
  })

  it('a submission in the hands of the engine is taken up though its look came while one that had done its work still had the lock', async () => {
    await using server = await mappingService([])
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await using plain = ferry.deps(server.url)
    await trigger(plain, pushing)
    await ferry.asked()
    await ferry.wave(plain)
    const [planned] = await ferry.ledger.db.selectFrom('submission').select('submission_id').execute()
    const holder = Promise.withResolvers<void>()
    const held = withSubmissionLock(ferry.ledger.pool, planned?.submission_id ?? 0, () => holder.promise)
    await using _ = await atWork(pushing, server.url)
    await vi.waitFor(async () => {
      const { rows } = await sql`
        select from nightferry_queue.job where name = 'look-at-submission' and state = 'completed'`.execute(
        ferry.ledger.db,
      )
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
    holder.resolve()
    await held
    expect(await ended()).toMatchObject({ state: 'finished' })
    expect(server.count(post)).toBe(1)
  })

  it('outlives a run that the key was taken from: the next run finishes it and sends nothing again', async () => {
    await using server = await mappingService([task('InProgress'), refusal(401, 'key_unknown')])
    await using deps = await atWork(pushing, server.url)
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    const first = await trigger(deps, pushing)
    expect(await ended()).toMatchObject({
      run_id: first?.run.run_id,
      state: 'failed',
      failure: { code: 'exchange_unauthorized', message: expect.stringContaining('EXCHANGE_API_KEY') },
    })
    expect((await ferry.ledger.row('properties', 'H-1')).outcome).toBeNull()
    const second = await trigger(deps, pushing)
    expect(await ended()).toMatchObject({ run_id: second?.run.run_id, state: 'finished' })
    expect(second?.run.run_id).not.toBe(first?.run.run_id)
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ outcome: 'confirmed' })
    expect(server.count(post)).toBe(1)
  })

  it('names the submission and the verbs when it stops over a task that cannot be asked for', async () => {
    await using server = await mappingService(Array.from({ length: 50 }, () => refusal(503, 'down')))
    await using deps = await atWork(pushing, server.url)
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await trigger(deps, pushing)
    const { submission_id } = await vi.waitFor(
      () => ferry.ledger.db.selectFrom('submission').select('submission_id').executeTakeFirstOrThrow(),
      patience,
    )
    const { failure } = await ended()
    expect(failure).toMatchObject({ code: 'exchange_failed', message: expect.stringContaining('Given up after') })
    expect(failure?.message).toContain(`It stopped over submission ${submission_id} (company_mappings, task `)
    expect(failure?.message).toContain(`nightferry abandon ${submission_id} gives it up`)
  })

  it('a submission in the hands of the engine is finished by another process when the one that sent it stopped', async () => {
    await using server = await mappingService(Array.from({ length: 3 }, () => task('InProgress')))
    await using gone = await atWork(pushing, server.url)
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await trigger(gone, pushing)
    await vi.waitFor(() => expect(server.count(taskPath)).toBeGreaterThan(0), patience)
    await engines.shift()?.stop()
    expect((await newestRun()).state).toBe('running')
    await using other = await atWork(pushing, server.url)
    await trigger(other, pushing)
    expect(await ended()).toMatchObject({ state: 'finished', resumed: 1 })
    expect(server.count(post)).toBe(1)
  })
})

describe('two daemons of one database that are configured for different services', () => {
  const inUse = 'http://127.0.0.1:9'
  const other = 'http://127.0.0.1:10'
  const many = Array.from({ length: 12 }, (_, at) => step(`step ${at}`, async () => 'done'))
  const job = jobOf(
    step('first', async () => 'done'),
    ...many,
    ending,
  )

  /** The ledger was sent to the first service. */
  async function sentBefore(): Promise<void> {
    await using deps = await atWork(job, inUse)
    await trigger(deps, job)
    expect(await ended()).toMatchObject({ state: 'finished' })
    await engines.pop()?.stop()
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'a' } }], true)
    await sql`update acceptance set outcome = 'confirmed'`.execute(ferry.ledger.db)
  }

  it.each<[string, RunTrigger]>([
    ['the schedule', 'schedule'],
    ['a person', 'cli'],
  ])('the one that is configured otherwise leaves a run that %s started to the other', async (_, by) => {
    await sentBefore()
    await using old = await atWork(job, other, config, true)
    await trigger(old, job, by)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await newestRun()).toMatchObject({ state: 'running', step: 'first' })
    await using _right = await atWork(job, inUse, config, true)
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('the run ends and says why when no other has taken it for as long as faults are tolerated', async () => {
    await sentBefore()
    await using old = await atWork(job, other, config, true)
    await trigger(old, job)
    expect(await ended()).toMatchObject({ state: 'failed', step: 'first' })
  })
})
