import { sql } from 'kysely'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { HttpError, TransportError, UncertainSubmission } from '../../../../src/exchange/errors.ts'
import type { Deps } from '../../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { patience } from '../../../helpers/patience.ts'
import { openFerry } from '../ferry.ts'
import { json, refusal, reset, service } from '../service.ts'

const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v1/bulk/company-mappings'
const list = '/api/v2/bulk/tasks'
const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** Ends the connections that hold locks, as an administrator does: the looks go on. */
async function loseLocks(): Promise<void> {
  const held = sql`select from pg_locks where locktype = 'advisory' and database = (
    select oid from pg_database where datname = current_database())`
  await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and database = (
    select oid from pg_database where datname = current_database())`.execute(ferry.ledger.db)
  await vi.waitFor(async () => expect((await held.execute(ferry.ledger.db)).rows).toEqual([]), patience)
}

/** The same with a log that is read. */
function listening(deps: Deps): { logged: Deps; told: string[] } {
  const told: string[] = []
  const info = (_: unknown, event: string) => told.push(event)
  return { logged: { ...deps, logger: { ...deps.logger, info } as unknown as Deps['logger'] }, told }
}

describe('a look whose lock was lost', () => {
  it('does not clear a later attempt by a list of tasks that it asked for before', async () => {
    await using server = await service({ [post]: [reset, refusal(502)], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    const getTasks: Deps['exchange']['getTasks'] = async () => {
      await loseLocks()
      for (let look = 0; look < 2; look++) await lookAtSubmission(deps, id)
      return []
    }
    await Promise.allSettled([lookAtSubmission({ ...deps, exchange: { ...deps.exchange, getTasks } }, id)])
    expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', attempts: 2, repeats: 1 })
    expect(server.count(post)).toBe(2)
  })

  it.each<[string, number, string[]]>([
    ['overdue', 1, ['unavailable', 'answers']],
    ['count a failure', 0, ['unavailable']],
  ])('does not make a later attempt %s', async (_, failing, says) => {
    await using server = await service({ [post]: [reset, json({ correlationId })], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    const since = { failures: failing, failing_since: failing > 0 ? ferry.clock.at : null }
    await ferry.ledger.db.updateTable('submission').set(since).execute()
    ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
    const getTasks: Deps['exchange']['getTasks'] = async () => {
      if (lost) await loseLocks()
      if (lost) for (let look = 0; look < 2; look++) await lookAtSubmission(deps, id)
      lost = false
      await ferry.asked()
      if (says.shift() !== 'unavailable') return []
      const call = { method: 'GET', url: `${server.url}${list}` }
      throw new HttpError(call, { status: 503, errorCode: null, serviceMessage: null, retryAfterMs: null })
    }
    let lost = true
    await Promise.allSettled([lookAtSubmission({ ...deps, exchange: { ...deps.exchange, getTasks } }, id)])
    expect(await ferry.submission(id)).toMatchObject({
      state: 'accepted',
      attempts: 2,
      correlation_id: correlationId,
      overdue_since: null,
      failures: 0,
    })
    expect(await ferry.asked(), 'the look of the later attempt is not put off').toEqual([])
  })

  it('does not say of a task that has ended that it goes on', async () => {
    const ended = json({ correlationId, status: 'Cancelled' })
    await using server = await service({
      [post]: [json({ correlationId })],
      [`${list}/${correlationId}`]: [ended],
    })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    const getTask: Deps['exchange']['getTask'] = async (asked) => {
      const task = await deps.exchange.getTask(asked)
      await loseLocks()
      await lookAtSubmission(deps, id)
      await ferry.asked()
      return { ...task, status: 'InProgress', phase: 'in_flight' }
    }
    await Promise.allSettled([lookAtSubmission({ ...deps, exchange: { ...deps.exchange, getTask } }, id)])
    expect(await ferry.submission(id)).toMatchObject({ state: 'settled', task_status: 'Cancelled' })
    expect(await ferry.asked()).toEqual([])
  })

  it('says once that a request was settled, which another look has settled meanwhile', async () => {
    const ended = json({ correlationId, status: 'Cancelled' })
    await using server = await service({ [post]: [json({ correlationId })], [`${list}/${correlationId}`]: [ended] })
    await using deps = ferry.deps(server.url)
    const { logged, told } = listening(deps)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    const getTask: Deps['exchange']['getTask'] = async (asked) => {
      const task = await deps.exchange.getTask(asked)
      await loseLocks()
      await lookAtSubmission(logged, id)
      return task
    }
    await Promise.allSettled([lookAtSubmission({ ...logged, exchange: { ...deps.exchange, getTask } }, id)])
    expect(await ferry.submission(id)).toMatchObject({ state: 'settled', task_status: 'Cancelled' })
    expect(told.filter((event) => event === 'submission_settled')).toHaveLength(1)
  })

  it('says of no request that it was sent again where a person adopted its task meanwhile', async () => {
    await using server = await service({ [post]: [reset], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(60_000)
    const getTasks: Deps['exchange']['getTasks'] = async () => {
      await loseLocks()
      await ferry.ledger.db
        .updateTable('submission')
        .set({ state: 'accepted', correlation_id: correlationId })
        .execute()
      return []
    }
    const { logged, told } = listening(deps)
    await Promise.allSettled([lookAtSubmission({ ...logged, exchange: { ...deps.exchange, getTasks } }, id)])
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', correlation_id: correlationId })
    expect(told).not.toContain('submission_sent_again')
  })

  const late = '0b6c2f4e-0000-4000-8000-000000000002'
  type Outcome = (call: { method: string; url: string }) => Promise<{ correlationId: string }>
  it.each<[string, Outcome]>([
    ['was never sent', (call) => Promise.reject(new TransportError(call, 'its turn never came', false, null))],
    [
      'was refused',
      (call) =>
        Promise.reject(new HttpError(call, { status: 403, errorCode: 'x', serviceMessage: 'm', retryAfterMs: null })),
    ],
    ['had no answer', (call) => Promise.reject(new UncertainSubmission(call, new Error('reset')))],
    ['was answered', async () => ({ correlationId: late })],
  ])('does not touch a later attempt because its own %s', async (_, outcome) => {
    await using server = await service({ [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<{ correlationId: string }>()
    const after: Deps['exchange']['submit'] = () => {
      begun.resolve()
      return answer.promise
    }
    let next: Promise<unknown> = Promise.resolve()
    const submit: Deps['exchange']['submit'] = async () => {
      await loseLocks()
      await lookAtSubmission(deps, id)
      ferry.clock.pass(60_000)
      await lookAtSubmission(deps, id)
      next = lookAtSubmission({ ...deps, exchange: { ...deps.exchange, submit: after } }, id)
      await begun.promise
      return await outcome({ method: 'POST', url: `${server.url}${post}` })
    }
    await Promise.allSettled([lookAtSubmission({ ...deps, exchange: { ...deps.exchange, submit } }, id)])
    expect(await ferry.submission(id)).toMatchObject({ state: 'sending', attempts: 2, failures: 0 })
    answer.resolve({ correlationId })
    await next
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', correlation_id: correlationId })
  })
})
