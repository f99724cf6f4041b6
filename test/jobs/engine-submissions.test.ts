import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import { withSubmissionLock } from '../../src/db/locks/advisory-lock.ts'
import type { Job } from '../../src/jobs/job.ts'
import { planWave } from '../../src/pipeline/push/waves/plan-wave.ts'
import { patience } from '../helpers/patience.ts'
import { ids } from '../pipeline/push/rows.ts'
import { type Answer, json, refusal, service } from '../pipeline/push/service.ts'
import {
  atWork,
  config,
  ended,
  ending,
  engineOf,
  engines,
  ferry,
  jobOf,
  newestRun,
  trigger,
  withEngines,
} from './working-engine.ts'

withEngines()

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

  it('a submission in the hands of the engine is sent before others are polled', async () => {
    await using server = await mappingService([])
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    const alone = { ...config, engine: { ...config.engine, submissionsAtOnce: 1 } }
    const { looks } = await engineOf(alone)
    await using plain = ferry.deps(server.url)
    await trigger(plain, pushing)
    await ferry.wave(plain)
    const { submission_id: known } = await ferry.ledger.db
      .selectFrom('submission')
      .select('submission_id')
      .executeTakeFirstOrThrow()
    await sql`delete from nightferry_queue.job`.execute(ferry.ledger.db)
    const toSend = 1_000_000
    await ferry.ledger.db.transaction().execute((trx) => looks.atSubmissions(trx, [known], 60_000))
    await ferry.ledger.db.transaction().execute((trx) => looks.atSubmissions(trx, [toSend]))
    await sql`update nightferry_queue.job set start_after = created_on`.execute(ferry.ledger.db)
    await using _ = await atWork(pushing, server.url, alone)
    const looked = await vi.waitFor(async () => {
      const { rows } = await sql<{ id: number }>`
        select (data ->> 'id')::integer as id from nightferry_queue.job
        where name = 'look-at-submission' and state = 'completed' order by completed_on`.execute(ferry.ledger.db)
      expect(rows).toHaveLength(2)
      return rows.map(({ id }) => id)
    }, patience)
    expect(looked).toEqual([toSend, known])
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
