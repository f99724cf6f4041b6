import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import stringWidth from 'string-width'
import { describe, expect, test } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { canaries } from '../helpers/canaries.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { conform, openService, writing } from './conform.ts'

const service = await ofThisFile(openService({ companies: 20 }))
const folder = await ofThisFile(workingFolder())

const run = (args: string[], env: Record<string, string> = { EXCHANGE_API_KEY: canaries.apiKey }) =>
  nightferry(folder.path, ['conformance', '--poll', '20', ...args], env)

describe('the table', () => {
  test('fits the terminal, names each statement and name, and ends with the counts; 3 when something was not observed', async () => {
    const { code, stdout, stderr } = await run(['--base-url', service.url])
    expect(code).toBe(3)
    expect(stdout.split('\n').filter((line) => stringWidth(line) > 160)).toEqual([])
    expect(stdout).toMatch(/^processing-rules\/1 .* holds$/m)
    expect(stdout).toMatch(/^names\.task\.pageUrls .* holds$/m)
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(
      /^214 statements: \d+ hold, 0 differ, \d+ not observed\. \d+ names: \d+ hold, 0 differ, \d+ not observed\. \d+ calls in [\d.]+ m?s\.$/,
    )
    expect(stderr).toMatch(/^Sends searches, some of which it cancels\./)
    expect(stderr).not.toMatch(/Writes to/)
  })

  test('ends with what differs, and with 1, when a name of the contract is not that of the service', async () => {
    const file = join(folder.path, 'contract.yaml')
    const text = await readFile(join(import.meta.dirname, '../../config/contract.yaml'), 'utf8')
    await writeFile(file, text.replace('createdAt: { name: createdAt,', 'createdAt: { name: submittedAt,'))
    const { code, stdout } = await run(['--base-url', service.url, '--contract', 'contract.yaml'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^differs {2}names\.task\.createdAt: absent from all/m)
  })
})

describe('what ends a run before it begins', () => {
  test.each([
    [
      'a service that is not there',
      ['--base-url', 'http://127.0.0.1:9'],
      1,
      /conformance_unreachable: http:\/\/127\.0\.0\.1:9 cannot be reached/,
    ],
    ['no service', [], 2, /usage: Name the service/],
    ['half of the leave to write', ['--group', writing.groupId], 2, /usage: Writing needs all of/],
    ['http across the network', ['--base-url', 'http://exchange.example.com'], 2, /usage: .* http only on loopback/],
  ])('%s', async (_what, args, code, message) => {
    const ended = await run(args.includes('--group') ? ['--base-url', service.url, ...args] : args)
    expect(ended.stderr).toMatch(message)
    expect(ended.code).toBe(code)
    expect(ended.stdout).toBe('')
  })

  test('credentials in the address, which are not repeated', async () => {
    const { code, stderr } = await run(['--base-url', 'https://user:canary@exchange.example.com'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/usage: .*without credentials/)
    expect(stderr).not.toContain('canary')
  })

  test.each([
    ['the base address with a path', () => `${service.url}/elsewhere`],
    ['the origin of the result files', () => service.filesUrl],
  ])('%s, where no unit types are', async (_what, address) => {
    const { code, stdout, stderr } = await run(['--base-url', address()])
    expect(stderr).toMatch(/conformance_no_service: .* answered 404 .* without \/api/)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  })

  test('a key that is denied, which is not repeated', async () => {
    const { code, stderr } = await run(['--base-url', service.url], { EXCHANGE_API_KEY: 'no-such-key' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/conformance_key_refused/)
    expect(stderr).not.toContain('no-such-key')
  })

  test('the administration of something that is not the sandbox: nothing is sent to it but two reads', async () => {
    const calls: string[] = []
    const server = createServer((request, response) => {
      calls.push(`${request.method} ${request.url}`)
      const known = request.url?.startsWith('/api/') === true
      response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' }).end('[]')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { code, stderr } = await run(['--base-url', url, '--administration'])
      expect(code).toBe(1)
      expect(stderr).toMatch(/conformance_no_sandbox/)
      expect(calls).toEqual(['GET /api/v1/unit-types', 'GET /sandbox/clock'])
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})

test('a run whose time is over ends, and says of the rest that it was not observed', async () => {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('unit-types')) response.writeHead(200).end('[]')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const limits = { callMs: 60_000, pollMs: 20, taskMs: 60_000, totalMs: 500 }
    const { entries, counts, ms } = await conform(url, { limits })
    expect(ms).toBeLessThan(5_000)
    expect(counts['not observed']).toBeGreaterThan(100)
    expect(entries.at(-1)).toMatchObject({ verdict: 'not observed', seen: 'the time for the whole run was over' })
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
