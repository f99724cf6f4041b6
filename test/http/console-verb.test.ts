import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { ConsoleDoor, sealLinkRequest } from '../../src/http/console/console-door.ts'
import { nightferry, start } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { demoConfig } from '../helpers/world.ts'
import { posted, served, tokens } from './served.ts'

const api = await ofThisFile(served({ hotels: 2 }))

const open = async (port: string, environment: Record<string, string>) =>
  await nightferry(api.folder, ['console', '--json', '--config', demoConfig], {
    ...api.world.environment(),
    NIGHTFERRY_HTTP_PORT: port,
    ...environment,
  })

test.each([
  ['act', { NIGHTFERRY_HTTP_TOKEN: tokens.act, NIGHTFERRY_HTTP_READ_TOKEN: tokens.read }],
  ['read', { NIGHTFERRY_HTTP_READ_TOKEN: tokens.read }],
])('nightferry console prints a link to the daemon that may %s, as its token allows', async (may, environment) => {
  const ended = await open(new URL(api.url).port, environment)
  expect(ended.code, ended.stderr).toBe(0)
  const { link } = JSON.parse(ended.stdout) as { link: string }
  expect(link).toMatch(new RegExp(`^${api.url}/console/#once=`))
  const signIn = posted({ once: link.split('#once=')[1] })
  const headers = { ...(signIn.headers as Record<string, string>), 'x-nightferry-console': '1' }
  expect(await api.json('/console/session', { ...signIn, headers })).toMatchObject({ may })
})

/** Opens the console where something else listens, until the verb serves its own. */
async function openBeside(answer: (request: IncomingMessage, body: string, response: ServerResponse) => void) {
  const seen: string[] = []
  const other = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push(JSON.stringify([request.url, request.headers, body]))
      answer(request, body, response)
    })
  }).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  try {
    const verb = start(api.folder, ['console', '--json', '--config', demoConfig], {
      ...api.world.environment(),
      NIGHTFERRY_HTTP_PORT: String(port),
      NIGHTFERRY_HTTP_TOKEN: tokens.act,
      NIGHTFERRY_HTTP_READ_TOKEN: tokens.read,
    })
    const early = verb.ended.then(({ stdout, stderr }) => Promise.reject(new Error(`it ended: ${stdout} ${stderr}`)))
    const isServing = vi.waitFor(() => expect(verb.stderr()).toContain('until you press Ctrl-C'), patience)
    await Promise.race([isServing, early]).finally(() => verb.child.kill('SIGINT'))
    early.catch(() => {})
    const { stdout, stderr } = await verb.ended
    const { link } = JSON.parse(stdout) as { link: string }
    return { seen, link, stderr, at: `http://127.0.0.1:${port}` }
  } finally {
    other.closeAllConnections()
    other.close()
  }
}

test('nightferry console shows its token to no program that listens in the place of the daemon', async () => {
  const { seen, link, stderr, at } = await openBeside((_request, _body, response) => {
    response.end('{"nonce":"one of mine","once":"mine"}')
  })
  expect(seen).toHaveLength(2)
  for (const request of seen) expect(request).not.toContain(tokens.act)
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/#once=[\w-]{43}$/)
  expect(link).not.toContain(at)
  expect(stderr).toContain(`What listens on ${at} does not prove that it knows the token`)
})

test('nightferry console says how a daemon that does not serve its own address is reached, and blames nobody', async () => {
  const { link, stderr, at } = await openBeside((_request, _body, response) => {
    response.writeHead(421).end('{"code":"host_unknown"}')
  })
  expect(link).not.toContain(at)
  expect(stderr).toContain(`What listens on ${at} answers 421`)
  expect(stderr).toContain('name 127.0.0.1 in http.allowedHosts')
  expect(stderr).not.toContain('does not prove')
})

test('nightferry console says that a daemon that gives links without a proof may be of an older version', async () => {
  const { stderr } = await openBeside((_request, _body, response) => response.end('{"once":"mine"}'))
  expect(stderr).toContain('A daemon of an older version has to be restarted first.')
})

const reading = { token: null, readToken: tokens.read }

test.each([
  ['sends back as its proof what it was sent', (asked: string) => JSON.stringify({ proof: asked })],
  [
    'knows the token that reads alone',
    (asked: string, door: ConsoleDoor) => {
      const { nonce } = JSON.parse(Buffer.from(asked.split('.')[0] ?? '', 'base64url').toString()) as { nonce: string }
      return JSON.stringify(door.makeLink(sealLinkRequest(nonce, 'x', reading) ?? ''))
    },
  ],
  ['never ends what it says', () => null],
  ['leads on to the daemon', null],
])('nightferry console opens no page of a program that %s', async (_what, answerOf) => {
  const door = new ConsoleDoor(reading, false)
  const { link, stderr, at } = await openBeside(({ method }, body, response) => {
    if (answerOf === null) {
      response.writeHead(307, { location: `${api.url}/console/links` }).end()
      return
    }
    const nonce = JSON.stringify({ nonce: door.giveNonce() })
    const answer = method === 'GET' ? nonce : answerOf((JSON.parse(body) as { asked: string }).asked, door)
    if (answer !== null) {
      response.end(answer)
      return
    }
    const fill = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    }
    response.on('drain', fill)
    fill()
  })
  expect(link).not.toContain(at)
  expect(stderr).toContain(`What listens on ${at} does not prove that it knows the token`)
})
