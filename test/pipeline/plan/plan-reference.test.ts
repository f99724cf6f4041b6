import { beforeEach, describe, expect, it } from 'vitest'
import { planReference } from '../../../src/pipeline/plan/plan-run.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { type Answer, refusal, reset, service } from '../push/service.ts'

const unitTypes = '/api/v1/unit-types'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

describe('the reference data of a plan', () => {
  it.each<[string, Answer]>([
    ['does not answer', reset],
    ['is in trouble', refusal(503)],
  ])(
    'the reference data of a plan are those of the last run when the service %s, and it says why',
    async (_, answer) => {
      await using server = await service({ [unitTypes]: [answer] })
      await using deps = ferry.deps(server.url)
      expect(await planReference(deps, false)).toMatchObject({
        source: 'none',
        why_not_fetched: expect.stringMatching(/./),
      })
      const fetched_at = new Date('2026-11-20T02:00:00Z')
      await ferry.ledger.db
        .insertInto('reference_data')
        .values({ kind: 'group', id: 'g', document: '{}', fetched_at, changed_at: fetched_at })
        .execute()
      expect(await planReference(deps, false)).toMatchObject({ source: 'cached', fetched_at })
    },
  )

  it('the reference data of a plan are not asked for when nobody wants them to be', async () => {
    await using server = await service({})
    await using deps = ferry.deps(server.url)
    expect(await planReference(deps, true)).toEqual({ source: 'none', fetched_at: null, why_not_fetched: null })
    expect(server.seen).toEqual([])
  })

  it('stop the plan where they would stop a run: at a key that the service does not know', async () => {
    await using server = await service({ [unitTypes]: [refusal(401)] })
    await using deps = ferry.deps(server.url)
    await expect(planReference(deps, false)).rejects.toMatchObject({ code: 'exchange_unauthorized' })
  })
})
