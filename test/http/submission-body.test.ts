import { request } from 'undici'
import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { keepReceivedBodies, receivedBody } from '../helpers/received-bodies.ts'
import { some } from '../helpers/some.ts'
import { bearer, runToEnd, served, tokens } from './served.ts'

const api = await ofThisFile(served({ hotels: 2 }))
await keepReceivedBodies(api.world.sandboxPool)
const run = await runToEnd(api)

const bodyOf = async (id: number, headers: Record<string, string>) => {
  const answer = await request(new URL(`/v1/submissions/${id}/body`, api.url), { headers })
  return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) }
}

test('GET /v1/submissions/{submission}/body gives what the service got', async () => {
  const { rows } = await api.world.pool.query<{ submission_id: string; correlation_id: string }>(
    'select submission_id, correlation_id from submission where run_id = $1',
    [run],
  )
  for (const { submission_id, correlation_id } of some(rows)) {
    const expected = await receivedBody(api.world.sandboxPool, correlation_id)
    const plain = await bodyOf(Number(submission_id), bearer(tokens.act))
    expect(plain.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(expected.length),
      'content-disposition': `attachment; filename="submission-${submission_id}.json"`,
      'cache-control': 'no-store',
    })
    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(plain.bytes.equals(expected)).toBe(true)
  }
})

test('GET /v1/submissions/{submission}/body is for the acting token alone, because a body holds data of the partner', async () => {
  const { statusCode, bytes } = await bodyOf(1, bearer(tokens.read))
  expect({ statusCode, ...(JSON.parse(bytes.toString()) as object) }).toMatchObject({
    statusCode: 403,
    code: 'token_reads_only',
  })
  expect((await bodyOf(1, {})).statusCode).toBe(401)
})

test('GET /v1/submissions/{submission}/body gives no body that is stored in part as a whole one', async () => {
  await api.world.pool.query(
    'update submission_payload set piece = substr(piece, 1, length(piece) - 8) where submission_id = 2',
  )
  const headers = { ...bearer(tokens.act), 'accept-encoding': 'gzip' }
  const whole = await bodyOf(2, headers).then(
    ({ statusCode }) => statusCode === 200,
    () => false,
  )
  expect(whole).toBe(false)
})

test('GET /v1/submissions/{submission}/body says why there is no body', async () => {
  const problem = async (id: number) => await api.json(`/v1/submissions/${id}/body`, {}, id === 4711 ? 404 : 410)
  expect(await problem(4711)).toMatchObject({ code: 'submission_unknown' })
  await api.world.pool.query('delete from submission_payload where submission_id = 1')
  expect(await problem(1)).toMatchObject({
    code: 'body_removed',
    detail: expect.stringContaining('push.keepPayloadsDays (90)'),
  })
  await api.world.pool.query('update submission set payload_bytes = null where submission_id = 1')
  expect(await api.json('/v1/submissions/1/body', {}, 409)).toMatchObject({ code: 'body_unwritten' })
})
