import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createLogger } from '../../src/cli/log.ts'

test('a log line has its time in ISO 8601, in UTC', () => {
  const to = new PassThrough()
  createLogger(to, 'info', []).info('run_started')
  const { time } = JSON.parse(String(to.read())) as { time: string }
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000)
})

test('a log line on a terminal has its time in ISO 8601, in UTC', () => {
  const to = Object.assign(new PassThrough(), { isTTY: true })
  createLogger(to, 'info', []).info('run_started')
  expect(String(to.read())).toMatch(/^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\]/)
})
