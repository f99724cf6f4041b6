import { beforeEach, describe, expect, it } from 'vitest'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { type Answer, json, service } from './service.ts'

const ours = '0b6c2f4e-0000-4000-8000-000000000001'
const post = '/api/v1/bulk/company-mappings'
const property = { partner_id: 'H-1', content: { name: 'A' } }

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

const waits =
  (status: number, ...retryAfter: string[]): Answer =>
  (response) =>
    response.setHeader('retry-after', retryAfter).writeHead(status).end('{"errorCode":"busy","message":"Later."}')

describe('a POST that is answered 503', () => {
  it.each<[string, string[], number]>([
    ['seconds', ['20'], 20_000],
    ['several headers', ['5', '20'], 20_000],
    ['nonsense', ['soon'], 500],
    ['less than it takes a task to be listed', ['0'], 500],
    ['more than anybody should wait', ['86400'], 60_000],
  ])(
    'a POST that is answered 503 is uncertain, and the task list is read as late as the service asks by %s',
    async (_, header, inMs) => {
      await using server = await service({ [post]: [waits(503, ...header)] })
      await using deps = ferry.deps(server.url)
      const id = await ferry.planned(deps, 'properties', [property])
      await ferry.asked()
      await lookAtSubmission(deps, id)
      expect((await ferry.submission(id)).state).toBe('uncertain')
      expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(inMs, -3) }])
    },
  )
})

describe('a POST that is answered 429', () => {
  it('leaves again no sooner than after a first failure, where the service asks for no wait at all', async () => {
    await using server = await service({ [post]: [waits(429, '0')] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.asked()
    const waited = []
    for (let look = 0; look < 3; look++) {
      await lookAtSubmission(deps, id)
      waited.push(...(await ferry.asked()).map(({ inMs }) => Math.round(inMs / 500) * 500))
    }
    expect(waited).toEqual([1_000, 2_000, 4_000])
  })

  it('leaves again as it was once the service wants it, and is accepted', async () => {
    await using server = await service({ [post]: [waits(429, '7.5'), json({ correlationId: ours })] })
    await using deps = ferry.deps(server.url)
    const id = await ferry.planned(deps, 'properties', [property])
    await ferry.asked()
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'planned', error_code: 'exchange_throttled' })
    expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(7_500, -3) }])
    await lookAtSubmission(deps, id)
    expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', correlation_id: ours, repeats: 0 })
    expect(server.seen[1]?.body).toBe(server.seen[0]?.body)
  })
})

it('a poll that is answered 503 is repeated as late as the service asks', async () => {
  const task = `/api/v2/bulk/tasks/${ours}`
  await using server = await service({ [post]: [json({ correlationId: ours })], [task]: [waits(503, '45')] })
  await using deps = ferry.deps(server.url)
  const id = await ferry.planned(deps, 'properties', [property])
  await lookAtSubmission(deps, id)
  await ferry.asked()
  await lookAtSubmission(deps, id)
  expect(await ferry.submission(id)).toMatchObject({ state: 'accepted', failures: 1 })
  expect(await ferry.asked()).toEqual([{ look: `look-at-submission ${id}`, inMs: expect.closeTo(45_000, -3) }])
})
