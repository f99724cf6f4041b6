import { beforeEach, describe, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { json, refusal, reset, type ScriptedService, service } from './service.ts'

const ours = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v1/bulk/company-mappings'
const list = '/api/v2/bulk/tasks'
const dayMs = 86_400_000
const property = { partner_id: 'H-1', content: { name: 'Zur Brücke' } }

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const task = (correlationId: string, status: string, createdAt: Date) => ({
  correlationId,
  status,
  taskKind: 'CompanyMappingRequest',
  requestType: null,
  createdAt: createdAt.toISOString(),
})

/** A request that was sent, and looked at so many times, while the clock of our database was a day ahead. */
async function sentAhead(server: ScriptedService, looks = 1) {
  const deps = ferry.deps(server.url)
  ferry.clock.pass(dayMs)
  const id = await ferry.planned(deps, 'properties', [property])
  for (let look = 0; look < looks; look++) await lookAtSubmission(deps, id)
  ferry.clock.pass(-dayMs)
  await ferry.asked()
  return { deps, id, look: () => lookAtSubmission(deps, id), found: () => ferry.submission(id) }
}

const longest = async () => Math.max(...(await ferry.asked()).map(({ inMs }) => inMs))

describe('a clock of our database that was a day ahead and is put right', () => {
  it('a clock that was ahead makes no request wait for longer whose answer was lost then', async () => {
    await using server = await service({ [post]: [reset, json({ correlationId: ours })], [list]: [json([])] })
    const { deps, look, found } = await sentAhead(server)
    await using _ = deps
    await look()
    expect((await found()).state).toBe('uncertain')
    expect(await longest()).toBeLessThan(31_000)
    ferry.clock.pass(31_000)
    await look()
    await look()
    expect(await found()).toMatchObject({ state: 'accepted', attempts: 2, repeats: 1 })
  })

  it('a clock that was ahead lets no run wait for longer where the list does not reach back', async () => {
    const others = Array.from({ length: 30 }, (_, at) =>
      task(`x-${at}`, 'Success', new Date(ferry.clock.at.getTime() + dayMs + 1_000)),
    )
    await using server = await service({ [post]: [reset], [list]: [json(others)] })
    const { deps, look, found } = await sentAhead(server)
    await using _ = deps
    await look()
    expect(await found()).toMatchObject({ state: 'uncertain', error_code: 'task_list_too_short' })
    ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
    await expect(look()).rejects.toMatchObject({ code: 'task_list_too_short' })
    // The next run takes it over.
    await ferry.ledger.db.updateTable('submission').set({ answers_lost_since: null }).execute()
    ferry.clock.pass(deps.config.push.unlistedGraceMs)
    await look()
    expect((await found()).state).toBe('planned')
  })

  it('a clock that was ahead proves of no task that it was accepted before the request whose answer was lost', async () => {
    const others = Array.from({ length: 30 }, (_, at) =>
      task(`x-${at}`, 'Success', new Date(ferry.clock.at.getTime() + dayMs + 1_000)),
    )
    const later = task(ours, 'Success', new Date(ferry.clock.at.getTime() + dayMs + 1_000))
    await using server = await service({ [post]: [reset], [list]: [json([...others, later])] })
    const { deps, look, found } = await sentAhead(server)
    await using _ = deps
    const { run_id } = await found()
    ferry.clock.pass(60_000)
    const accepted = { run_id, kind: 'company_mappings', row_count: 0, correlation_id: ours }
    await ferry.ledger.db
      .insertInto('submission')
      .values({ ...accepted, state: 'settled', accepted_at: ferry.clock.at })
      .execute()
    ferry.clock.pass(1_000)
    await look()
    ferry.clock.pass(60_000)
    await look()
    expect(await found()).toMatchObject({ state: 'uncertain', error_code: 'task_list_too_short' })
  })

  it('a clock that was ahead stops no run over a request that was never sent again', async () => {
    const listed = (status: string) => json([task(ours, status, new Date(ferry.clock.at.getTime() + dayMs + 1_000))])
    await using server = await service({ [post]: [reset], [list]: [listed('InProgress'), listed('Success')] })
    const { deps, look, found } = await sentAhead(server)
    await using _ = deps
    await look()
    ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
    await look()
    expect((await found()).state).toBe('planned')
  })

  it('a clock that was ahead makes a task overdue no later that was accepted then', async () => {
    await using server = await service({
      [post]: [json({ correlationId: ours })],
      [`${list}/${ours}`]: [json(task(ours, 'InProgress', ferry.clock.at))],
    })
    const { deps, look, found } = await sentAhead(server)
    await using _ = deps
    await look()
    expect((await found()).overdue_since).toBeNull()
    ferry.clock.pass(deps.config.exchange.taskPatienceMs)
    await look()
    expect((await found()).overdue_since).not.toBeNull()
  })

  it('a clock that was ahead lets no outage be borne for longer that began then', async () => {
    await using server = await service({
      [post]: [json({ correlationId: ours })],
      [`${list}/${ours}`]: [refusal(503)],
      [list]: [refusal(503)],
    })
    const { deps, look } = await sentAhead(server, 2)
    await using _ = deps
    await look()
    ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
    await expect(look()).rejects.toMatchObject({ code: 'exchange_failed' })
  })

  it('a clock that was ahead by a moment, as two readings of one clock are, dates nothing', async () => {
    await using server = await service({ [post]: [reset], [list]: [json([])] })
    const { deps, look, found } = await sentAhead(server)
    await using _ = deps
    const { uncertain_since } = await found()
    ferry.clock.pass(dayMs - 1_000)
    await look()
    expect((await found()).uncertain_since).toEqual(uncertain_since)
  })
})
