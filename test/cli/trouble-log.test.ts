import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTroubleLog } from '../../src/cli/log.ts'

const hourMs = 3_600_000

function recorder() {
  const lines: object[] = []
  const logger = pino(
    { base: null, timestamp: false, messageKey: 'event' },
    { write: (line: string) => void lines.push({ ...(JSON.parse(line) as object), level: 'error' }) },
  )
  return { lines, logger }
}

const refused = (port: number) => Object.assign(new Error(`connect ${port}`), { code: 'ECONNREFUSED' })

test('trouble is told at once for each event and each code, and again only after the interval', () => {
  const { lines, logger } = recorder()
  const log = createTroubleLog(logger, hourMs)
  for (const port of [1, 2, 3]) log.tell('queue_error', refused(port))
  log.tell('queue_error', new Error('process 17 died'))
  log.tell('queue_error', new Error('process 18 died'))
  log.tell('database_connection_lost', refused(1))
  expect(lines).toEqual([
    { level: 'error', event: 'queue_error', code: 'ECONNREFUSED', error: 'connect 1' },
    { level: 'error', event: 'queue_error', error: 'process 17 died' },
    { level: 'error', event: 'database_connection_lost', code: 'ECONNREFUSED', error: 'connect 1' },
  ])
  log.close()
  expect(lines.slice(3)).toEqual([
    { level: 'error', event: 'queue_error', code: 'ECONNREFUSED', error: 'connect 3', suppressed: 2 },
    { level: 'error', event: 'queue_error', error: 'process 18 died', suppressed: 1 },
  ])
})

test('what else is known of trouble is told with it, of the newest where several were counted', () => {
  const { lines, logger } = recorder()
  const log = createTroubleLog(logger, hourMs)
  for (const job of ['push', 'night', 'search']) log.tell('tick_failed', refused(1), { job })
  log.close()
  const said = { level: 'error', event: 'tick_failed', code: 'ECONNREFUSED', error: 'connect 1' }
  expect(lines).toEqual([
    { ...said, job: 'push' },
    { ...said, job: 'search', suppressed: 2 },
  ])
})

test('what was counted in an interval is told at its end, and what came once is not told again', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { lines, logger } = recorder()
  const log = createTroubleLog(logger, 30)
  log.tell('queue_error', refused(1))
  log.tell('queue_error', refused(2))
  log.tell('tick_failed', refused(3))
  vi.advanceTimersByTime(30)
  const counted = { level: 'error', event: 'queue_error', code: 'ECONNREFUSED', error: 'connect 2', suppressed: 1 }
  expect(lines.slice(2)).toEqual([counted])
  // After a quiet interval it is new again.
  log.tell('tick_failed', refused(4))
  const news = { level: 'error', event: 'tick_failed', code: 'ECONNREFUSED', error: 'connect 4' }
  expect(lines.slice(3)).toEqual([news])
  log.close()
})
