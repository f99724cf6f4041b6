import { afterAll, beforeAll, expect, it } from 'vitest'
import { posted, type Served, served, tokens } from './served.ts'

let api: Served

beforeAll(async () => {
  // Nothing listens there.
  api = await served({ hotels: 1 }, { PARTNER_DATABASE_URL: 'postgres://reader:open-sesame@127.0.0.1:9/pms' })
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

it('a plan says where the partner’s database cannot be read, as the verb does, also when it is asked for again', async () => {
  const told = { status: 502, code: 'partner_unreachable', detail: expect.stringContaining('127.0.0.1:9/pms') }
  const problem = await api.json('/v1/plan', posted({}), 502)
  expect(problem).toMatchObject(told)
  expect(JSON.stringify(problem)).not.toContain('open-sesame')
  expect(await api.json('/v1/plan', posted({ plan: 1 }), 502)).toMatchObject(told)
  expect(api.daemon.stderr()).not.toContain('http_failed')
})

it('a secret in the words of a problem is not answered', async () => {
  const problem = await api.json(`/v1/rows?state=rejected&stream=${tokens.read}`, {}, 404)
  expect(problem).toMatchObject({ code: 'stream_unknown', detail: expect.stringContaining('no stream ********;') })
})
