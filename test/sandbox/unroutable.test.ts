import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { readLog } from './chaos-world.ts'
import { contract, openSandbox } from './open-sandbox.ts'

const sandbox = await ofThisFile(openSandbox())

/** The status and body of the answer to these bytes. */
async function answerTo(bytes: string, url = sandbox.url): Promise<{ status: number; body: Record<string, unknown> }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8')
  // Bytes that the sandbox left unread make the end a reset.
  socket.on('error', () => {})
  let answer = ''
  socket.on('data', (text: string) => {
    answer += text
  })
  socket.write(bytes)
  await new Promise((resolve) => socket.once('close', resolve))
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) as Record<string, unknown> }
}
const withoutHost = (path: string) => `GET ${path} HTTP/1.1\r\nauthorization: demo-key\r\nconnection: close\r\n\r\n`
const get = (path: string, more = '') =>
  answerTo(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: demo-key\r\nconnection: close\r\n${more}\r\n`)

describe('what reaches no endpoint', () => {
  it.each([
    ['a path that cannot be decoded', () => get('/api/v2/bulk/tasks/%ff'), 400, 'request_malformed'],
    ['an id that is too long for any', () => get(`/api/v2/bulk/tasks/${'a'.repeat(500)}`), 404, 'task_not_found'],
    ['bytes that are no HTTP', () => answerTo('NONSENSE\r\n\r\n'), 400, 'request_malformed'],
    ['a request without a Host header', () => answerTo(withoutHost('/api/v1/unit-types')), 400, 'host_missing'],
    [
      'a request for a file without a Host header',
      () => answerTo(withoutHost('/files/none'), sandbox.filesUrl),
      400,
      'host_missing',
    ],
    [
      'a request that expects what nobody knows',
      () => get('/api/v1/frameworks/none', 'expect: something\r\n'),
      404,
      'framework_not_found',
    ],
    ['a request for a tunnel', () => answerTo('CONNECT example.com:443 HTTP/1.1\r\n\r\n'), 400, 'request_malformed'],
    [
      'a request for a tunnel to the server of files',
      () => answerTo('CONNECT example.com:443 HTTP/1.1\r\n\r\n', sandbox.filesUrl),
      400,
      'request_malformed',
    ],
    ['a head that is too large', () => get('/', `x: ${'a'.repeat(20_000)}\r\n`), 431, 'request_malformed'],
  ])(
    'what reaches no endpoint is answered with an errorCode and a message: %s',
    async (_what, ask, status, errorCode) => {
      const { names } = contract
      expect(await ask()).toEqual({
        status,
        body: { [names.error.errorCode]: errorCode, [names.error.message]: expect.any(String) },
      })
    },
  )

  it('what reaches no endpoint is served without a Host header where its version of HTTP has none', async () => {
    const asked = answerTo('GET /api/v1/frameworks/none HTTP/1.0\r\nauthorization: demo-key\r\n\r\n')
    expect(await asked).toMatchObject({ status: 404, body: { errorCode: 'framework_not_found' } })
  })

  it('what reaches no endpoint is in the log where it is a request', async () => {
    await get('/api/v1/frameworks/%zz')
    expect((await readLog(sandbox)).at(-1)).toMatchObject({ path: '/api/v1/frameworks/%zz', httpStatus: 400 })
  })
})
