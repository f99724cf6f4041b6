import { type AddressInfo, createServer } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect, test, vi } from 'vitest'
import type { Message } from '../../src/pipeline/notify/message.ts'
import { httpServer } from '../exchange/fault-server.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { json, refusal, service } from '../pipeline/push/service.ts'
import { nightferry, start, workingFolder } from './nightferry-process.ts'

const hook = '/hooks/T0/B0/what-only-we-know'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3 }))
const receiver = await ofThisFile(service({ [hook]: [json({})], '/closed': [refusal(403)], '/beat': [json({})] }))
const folder = await ofThisFile(workingFolder())

const call = (args: string[], settings: Record<string, string> = {}) =>
  nightferry(folder.path, [...args, '--config', demoConfig], {
    ...world.environment(),
    NIGHTFERRY_NOTIFY_URL: `${receiver.url}${hook}`,
    ...settings,
  })
const told = () => receiver.seen.filter(({ path }) => path === hook).map(({ body }) => JSON.parse(body) as Message)

test('a test message arrives before the first night, and a receiver that refuses it is named', async () => {
  expect(await call(['notify', '--test'])).toMatchObject({ code: 0, stdout: 'The receiver took the test message.\n' })
  expect(told()).toMatchObject([{ event: 'test' }])
  const closed = await call(['notify', '--test'], { NIGHTFERRY_NOTIFY_URL: `${receiver.url}/closed` })
  expect(closed).toMatchObject({ code: 1, stdout: 'Not sent: the receiver of notify.url answered 403.\n' })
  const none = await nightferry(folder.path, ['notify', '--test', '--config', demoConfig], world.environment())
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('NIGHTFERRY_NOTIFY_URL') })
})

test('a test message as JSON names each receiver, those that took it and those that did not', async () => {
  const mail = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    hideSTARTTLS: true,
    onRcptTo: ({ address }, _, done) => (address.startsWith('gone') ? done(new Error('no such box')) : done()),
    onData: (stream, _, done) => stream.resume().on('end', () => done()),
  })
  const { port } = (await new Promise<void>((resolve) => mail.listen(0, '127.0.0.1', resolve)).then(() =>
    mail.server.address(),
  )) as AddressInfo
  const email = ['host=127.0.0.1', `port=${port}`, 'tls=none', 'from=nights@example.com']
  const to = 'to=["ada@example.com","gone@example.com"]'
  const set = [...email, to].flatMap((one) => ['--set', `notify.email.${one}`])
  const sent = await call(['notify', '--test', '--json', ...set])
  await new Promise<void>((resolve) => mail.close(resolve))
  expect(sent.code, sent.stderr).toBe(1)
  const refused = 'the server of notify.email refused gone@example.com: 550 no such box'
  expect(JSON.parse(sent.stdout)).toEqual({
    sent: false,
    error: refused,
    receivers: [
      { name: 'notify.url', error: null },
      { name: 'notify.email ada@example.com', error: null },
      { name: 'notify.email gone@example.com', error: refused },
    ],
  })
})

test('a test message that a mail server refuses shows its words without what drives a terminal', async () => {
  const mail = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('554 go away\u001b[2J\u009b2J now\r\n')
  })
  await new Promise<void>((resolve) => mail.listen(0, '127.0.0.1', resolve))
  const { port } = mail.address() as AddressInfo
  const email = ['host=127.0.0.1', `port=${port}`, 'tls=none', 'from=nights@example.com', 'to=["ada@example.com"]']
  const sent = await call(['notify', '--test', ...email.flatMap((one) => ['--set', `notify.email.${one}`])])
  mail.close()
  expect(sent.code, sent.stderr).toBe(1)
  expect(sent.stdout).toContain(String.raw`go away\u001b[2J`)
  for (const control of ['\u001b', '\u009b']) expect(sent.stdout).not.toContain(control)
})

test('a heartbeat is called by a test only where it is asked for, because it quiets the monitor', async () => {
  const beats = () => receiver.seen.filter(({ path }) => path === '/beat').length
  const both = { NIGHTFERRY_NOTIFY_HEARTBEAT_URL: `${receiver.url}/beat` }
  expect(await call(['notify', '--test'], both)).toMatchObject({ code: 0 })
  expect(beats()).toBe(0)
  const beaten = await call(['notify', '--test', '--heartbeat'], both)
  expect(beaten).toMatchObject({ code: 0, stdout: 'notify.heartbeatUrl took the call.\n' })
  expect(receiver.seen.at(-1)).toMatchObject({ method: 'GET', path: '/beat' })
  const closed = { NIGHTFERRY_NOTIFY_HEARTBEAT_URL: `${receiver.url}/closed` }
  const refused = 'Not sent: the receiver of notify.heartbeatUrl answered 403.\n'
  expect(await call(['notify', '--test', '--heartbeat'], closed)).toMatchObject({ code: 1, stdout: refused })
  const unset = await call(['notify', '--test', '--heartbeat'])
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('NIGHTFERRY_NOTIFY_HEARTBEAT_URL') })
  const alone = await call(['notify', '--heartbeat'], both)
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--test') })
})

test('a night that fails is told once, and so is the one after it that does not', async () => {
  const before = told().length
  const unreachable = { EXCHANGE_BASE_URL: 'http://127.0.0.1:9', NIGHTFERRY_EXCHANGE_GIVE_UP_AFTER_MS: '1000' }
  expect(await call(['run', 'nightly-sync'], unreachable)).toMatchObject({ code: 1 })
  expect(await call(['run', 'nightly-sync'], unreachable)).toMatchObject({ code: 1 })
  expect(told().slice(before)).toMatchObject([{ event: 'failed', run_id: 1, verdict: 'failed' }])

  expect(await call(['run', 'nightly-sync'])).toMatchObject({ code: 0 })
  expect(told().slice(before)).toMatchObject([
    { event: 'failed' },
    { event: 'recovered', run_id: 3, numbers: { sent: expect.any(Number) } },
  ])
  const listed = await call(['notify'])
  expect(listed.stdout).toMatch(/^ *2 +3 +recovered .* told /m)
  expect(JSON.parse((await call(['notify', '--json'])).stdout)).toHaveLength(2)
})

test('a message that one receiver took and another did not is listed with the one that did not', async () => {
  const error = 'the server of notify.email refused gone@example.com: 550 no such box'
  await world.pool.query(
    `insert into nightferry.notification (job, event, cause, message, told_at, next_at, error)
     values ('push', 'failed', 'tried on', '{}', now(), now(), $1), ('push', 'failed', 'given up', '{}', now(), null, $1)`,
    [error],
  )
  const { stdout } = await call(['notify'])
  expect(stdout).toMatch(/ told .*, tried on for others: .*gone@example\.com/)
  expect(stdout).toMatch(/ told .*, given up for others: .*gone@example\.com/)
})

test('a report as JSON is printed before the receiver has answered', async () => {
  await using silent = await httpServer(() => {})
  const settings = { ...world.environment(), NIGHTFERRY_NOTIFY_HEARTBEAT_URL: `${silent.url}/beat` }
  const running = start(folder.path, ['run', 'nightly-sync', '--json', '--config', demoConfig], settings)
  let printed = ''
  running.child.stdout?.on('data', (text: string) => {
    printed += text
  })
  await vi.waitFor(() => expect(silent.seen).toHaveLength(1), { timeout: 60_000 })
  await vi.waitFor(() => expect(JSON.parse(printed)).toMatchObject({ verdict: 'succeeded' }), { timeout: 9_000 })
  expect(running.child.exitCode).toBeNull()
  running.child.kill('SIGTERM')
  expect(await running.ended).toMatchObject({ code: 143 })
}, 120_000)

test('the address of a receiver is shown nowhere, and refused where others would see it', async () => {
  const shown = await call(['config', 'print'])
  expect(shown.code).toBe(0)
  expect(shown.stdout + shown.stderr).not.toContain('what-only-we-know')
  const given = await call(['run', 'nightly-sync', '--set', `notify.url=${receiver.url}${hook}`])
  expect(given.code).toBe(2)
  const plain = await call(['notify', '--test'], { NIGHTFERRY_NOTIFY_URL: 'http://hooks.example.com/x' })
  expect(plain).toMatchObject({ code: 2, stderr: expect.stringContaining('notify.url') })
})
