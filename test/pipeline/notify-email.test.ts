import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { channelsOf, sendEmail } from '../../src/pipeline/notify/channels.ts'
import type { Message } from '../../src/pipeline/notify/message.ts'

const password = 'secret-of-the-mailbox'
const message: Message = {
  event: 'partial',
  job: 'nightly-sync',
  destination: null,
  run_id: 41,
  verdict: 'partial',
  sentence: 'nightly-sync finished, and needs a person (run 41): 3 rows refused.\r\nBcc: evil@example.com',
  numbers: {},
  causes: [{ what: 'rejected by the service', rows: 3, verb: 'nightferry rejected' }],
}

let folder: string
let tls: { key: Buffer; cert: Buffer }
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightferry-mail-'))
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files], {
    stdio: 'ignore',
  })
  tls = { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) }
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A mail server on loopback, and what it took. */
async function mailServer(options: SMTPServerOptions = {}) {
  const taken: { from: string; to: string[]; text: string; user: unknown; secure: boolean }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    ...tls,
    onAuth: (auth, _, done) =>
      auth.password === password ? done(null, { user: auth.username }) : done(new Error('Invalid login')),
    onData: (stream, session, done) => {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        taken.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(pieces).toString('utf8'),
          user: session.user,
          secure: session.secure,
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.server.address() as AddressInfo
  return { taken, port, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

/** Takes connections, and never greets; `closed` once its first connection has ended. */
async function silentServer() {
  const server = createServer()
  const connected = once(server, 'connection') as Promise<[Socket]>
  const closed = connected.then(([socket]) =>
    once(
      socket.resume().on('error', () => {}),
      'close',
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    connected,
    closed,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

const email = (port: number, given: object = {}) =>
  settings.parse({
    notify: {
      email: { host: '127.0.0.1', port, tls: 'none', from: 'nights@example.com', to: ['ada@example.com'], ...given },
    },
  }).notify.email

/** Why the only address of these settings did not take the message. */
const notTaken = async (settings: ReturnType<typeof email>) =>
  (await sendEmail(settings, message)).get('ada@example.com')

it('a mail server that says nothing is left as soon as the process is to end', async () => {
  await using silent = await silentServer()
  const stopping = new AbortController()
  const sending = sendEmail(email(silent.port), message, { signal: stopping.signal })
  await silent.connected
  stopping.abort()
  expect((await sending).get('ada@example.com')).toMatch(/^the server of notify\.email did not take it: .*abort/i)
  await silent.closed
})

it('a mail server takes the sentence and the causes, from whom and to whom it is set', async () => {
  await using server = await mailServer({ hideSTARTTLS: true })
  expect(await sendEmail(email(server.port, { to: ['ada@example.com', 'bob@example.com'] }), message)).toEqual(
    new Map(),
  )
  const [mail] = server.taken
  expect(mail).toMatchObject({ from: 'nights@example.com', to: ['ada@example.com', 'bob@example.com'] })
  expect(mail?.text).toContain('Subject: [Nightferry] nightly-sync: partial')
  expect(mail?.text.replaceAll(/=\r\n/g, '')).toContain('nightferry rejected')
  // What a row says does not become a header.
  const [head = ''] = (mail?.text ?? '').split('\r\n\r\n')
  expect(head).not.toContain('evil@example.com')
})

it('a mail names its destination in its subject and its text where that does not go without saying', async () => {
  await using server = await mailServer({ hideSTARTTLS: true })
  const there = { ...message, destination: 'staging' }
  await sendEmail(email(server.port), there)
  await sendEmail(email(server.port), there, { withoutSaying: 'staging' })
  const [named = '', unnamed = ''] = server.taken.map(({ text }) => text)
  expect(named).toContain('Subject: [Nightferry] nightly-sync at staging: partial')
  expect(named).toContain('At staging: nightly-sync finished')
  expect(unnamed).toContain('Subject: [Nightferry] nightly-sync: partial')
  expect(unnamed).not.toContain('staging')
})

it('the mailer logs in only once the connection is encrypted, and not at a server whose certificate proves nothing', async () => {
  await using server = await mailServer({ authOptional: false })
  const error = await notTaken(email(server.port, { tls: 'starttls', user: 'ferry', password }))
  expect(error).toMatch(/^the server of notify\.email did not take it: .*(self.signed|certificate|altnames)/i)
  expect(error).not.toContain(password)
  expect(server.taken).toEqual([])
})

it('the mailer sends nothing to a server that offers no TLS where TLS is set', async () => {
  await using server = await mailServer({ hideSTARTTLS: true })
  expect(await notTaken(email(server.port, { tls: 'starttls' }))).toMatch(/did not take it/)
  expect(server.taken).toEqual([])
})

it('the mailer says why a server refused, without the password, and which addresses it refused', async () => {
  await using server = await mailServer({
    hideSTARTTLS: true,
    authMethods: ['PLAIN'],
    allowInsecureAuth: true,
    onAuth: (_, __, done) => done(new Error(`no ${password}`)),
    onRcptTo: ({ address }, _, done) => (address.startsWith('bob') ? done(new Error('no such box')) : done()),
  })
  const refused = await notTaken(email(server.port, { user: 'ferry', password }))
  expect(refused).toMatch(/535/)
  expect(refused).not.toContain(password)
  const to = ['bob@Example.com', 'ada@Example.com', 'bob@bücher.example']
  expect(await sendEmail(email(server.port, { to }), message)).toEqual(
    new Map([
      ['bob@Example.com', 'the server of notify.email refused bob@example.com: 550 no such box'],
      ['bob@bücher.example', 'the server of notify.email refused bob@xn--bcher-kva.example: 550 no such box'],
    ]),
  )
  expect(server.taken.map((mail) => mail.to)).toEqual([['ada@example.com']])
})

it('the mailer says that nobody listens', async () => {
  expect(await notTaken(email(9))).toMatch(/^the server of notify\.email did not take it: .*ECONNREFUSED/)
})

it('mail goes beside notify.url, and heartbeats go to neither', () => {
  const both = settings.parse({
    notify: {
      url: 'https://hooks.example.com/x',
      heartbeatUrl: 'https://beats.example.com/x',
      email: { host: 'mail.example.com', from: 'a@example.com', to: ['b@example.com'] },
    },
  }).notify
  const namesOf = (channels: ReturnType<typeof channelsOf>) =>
    channels.flatMap(({ receivers }) => receivers.map(({ name }) => name))
  expect(namesOf(channelsOf(both))).toEqual(['notify.url', 'notify.email b@example.com'])
  expect(namesOf(channelsOf(both, true))).toEqual(['notify.heartbeatUrl'])
})

it.each([
  ['no TLS beyond loopback', { tls: 'none' }],
  ['a line break in an address', { to: ['ada@example.com\r\nBcc: x@example.com'] }],
  ['a user without a password', { user: 'ferry' }],
  ['nobody to send to', { to: [] }],
])('the configuration refuses %s', (_, given) => {
  const set = { host: 'mail.example.com', from: 'a@example.com', to: ['b@example.com'], ...given }
  expect(settings.safeParse({ notify: { email: set } }).success).toBe(false)
})

it.each(['localhost', '127.0.0.1', '::1', '[::1]'])(
  'a mail server on this machine needs no TLS, named as %s',
  (host) => {
    const email = { host, tls: 'none', from: 'a@example.com', to: ['b@example.com'] }
    expect(settings.safeParse({ notify: { email } }).success).toBe(true)
  },
)
