import { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { printJson } from '../../src/cli/cli.ts'
import { createLogger } from '../../src/cli/log.ts'
import { table } from '../../src/cli/show/table.ts'
import { type HttpServer, httpServer, sendJson } from '../exchange/fault-server.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

/** Clears the screen by ESC and by the C1 control, rings, and turns the rest of the line round. */
const hostile = 'a\u001b[2J\u0007b\u009b2Jc\u202ed'
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose.
const dangerous = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/ // oxlint-disable-line no-control-regex

let service: HttpServer

beforeEach(async () => {
  service = await httpServer((_, response) => sendJson(response, { errorCode: hostile, message: hostile }, 403))
})

afterEach(() => service[Symbol.asyncDispose]())

test("the service's words about a failed run reach a terminal with their control characters escaped", async () => {
  await using folder = await workingFolder()
  const own = await testDatabase({ template: 'empty' })
  const environment = {
    EXCHANGE_BASE_URL: service.url,
    EXCHANGE_API_KEY: 'some-key',
    DATABASE_URL: own.url,
    PARTNER_DATABASE_URL: own.url,
  }
  for (const args of [
    ['run', 'nightly-sync'],
    ['run', 'nightly-sync', '--json'],
    ['status'],
    ['status', '--json'],
    ['runs'],
  ]) {
    const { stdout, stderr } = await nightferry(folder.path, [...args, '--config', demoConfig], environment)
    expect(`${stdout}${stderr}`, args.join(' ')).toContain(String.raw`b\u009b2Jc\u202ed`)
    expect(`${stdout}${stderr}`, args.join(' ')).not.toMatch(dangerous)
  }
})

test('JSON that is printed escapes control and bidirectional characters and stays equal', () => {
  const value = { [hostile]: [hostile, 'Žluťoučký 東京'] }
  const printed = written((to) => printJson(to, value))
  expect(printed).not.toMatch(dangerous)
  expect(JSON.parse(printed)).toEqual(value)
})

test.each([false, true])('log lines escape control and bidirectional characters (terminal: %s)', (isTTY) => {
  const line = written((to) =>
    createLogger(Object.assign(to, { isTTY }), 'info', []).warn({ reason: hostile }, 'some_event'),
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are ours.
  expect(line.replaceAll(/\u001b\[\d+m/g, '')).not.toMatch(dangerous) // oxlint-disable-line no-control-regex
})

test('the headers of a table are as safe as its cells', () => {
  expect(table([hostile], [[hostile]])).not.toMatch(dangerous)
})

function written(write: (to: Writable) => void): string {
  let text = ''
  write(
    new Writable({
      write: (chunk, _, done) => {
        text += String(chunk)
        done()
      },
    }),
  )
  return text
}
