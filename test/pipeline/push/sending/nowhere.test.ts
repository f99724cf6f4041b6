import { beforeEach, describe, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'
import { some } from '../../../helpers/some.ts'
import { openFerry } from '../ferry.ts'
import { type Answer, json, service } from '../service.ts'

const post = '/api/v1/bulk/company-mappings'
const list = '/api/v2/bulk/tasks'
const property = { partner_id: 'H-1', content: { name: 'A' } }
const gateway: Answer = (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>')

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

describe('a POST to an address at which nothing is', () => {
  it('a POST to such an address is refused once that has lasted as long as calls may fail, where the service answers elsewhere', async () => {
    await using server = await service({ [post]: [gateway], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    for (const state of ['planned', 'planned', 'refused']) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe(state)
      ferry.clock.pass(deps.config.exchange.giveUpAfterMs / 2)
    }
    expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({ outcome: 'rejected', outcome_code: '404' })
  })

  it('a POST of a search to such an address is sent again while a gateway restarts, and is accepted', async () => {
    const search = '/api/v2/bulk/calculators/search'
    const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
    const restarting = Array.from({ length: 8 }, () => gateway)
    await using server = await service({ [search]: [...restarting, json({ correlationId })], [list]: [json([])] })
    await using deps = ferry.deps(server.url)
    const run_id = await ferry.ledger.startRun()
    const { submission_id: id } = await ferry.ledger.db
      .insertInto('submission')
      .values({ run_id, kind: 'calculators_search', state: 'planned', row_count: 0 })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    for (const _ of some(restarting)) {
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('planned')
      ferry.clock.pass(60_000)
    }
    await lookAtSubmission(deps, id)
    expect((await ferry.submission(id)).state).toBe('accepted')
  })

  it('a POST to such an address ends the run where nothing of the service answers', async () => {
    await using server = await service({ [post]: [gateway], [list]: [gateway] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await lookAtSubmission(deps, id)
    ferry.clock.pass(deps.config.exchange.giveUpAfterMs)
    await expect(lookAtSubmission(deps, id)).rejects.toMatchObject({ code: 'exchange_failed' })
    expect((await ferry.submission(id)).state).toBe('planned')
  })
})
