import { expect, test, vi } from 'vitest'
import { openBrokenService } from '../broken-rules/broken-service.ts'
import { conform, leftBehind, openService } from './conform.ts'

test('a run that is stopped while it makes trouble takes down what it set up', async () => {
  await using service = await openService({ companies: 20, allowInsecureWebhooks: true })
  const stop = new AbortController()
  const run = conform(service.url, { administration: true, signal: stop.signal })
  const ended = expect(run).rejects.toThrow(/aborted/)
  await vi.waitFor(
    async () => {
      const { webhooks, chaos } = await leftBehind(service.url)
      expect(webhooks).toHaveLength(1)
      expect(chaos.length).toBeGreaterThan(0)
    },
    { timeout: 60_000, interval: 5 },
  )
  stop.abort()
  await ended
  expect(await leftBehind(service.url)).toEqual({ webhooks: [], chaos: [], timeWarp: 1 })
})

test.each([
  ['trouble was switched on', 'PUT', '/sandbox/chaos'],
  ['a webhook was created', 'POST', '/sandbox/webhooks'],
])('a run that is stopped after %s, before it is told so, takes it back', async (_what, method, path) => {
  await using service = await openService({ companies: 20, allowInsecureWebhooks: true })
  const between = await openBrokenService(service)
  const stop = new AbortController()
  try {
    between.break({
      answer: (exchange) => {
        if (exchange.method === method && exchange.path === path) stop.abort()
      },
    })
    const run = conform(between.url, { administration: true, signal: stop.signal, only: ['moves/re-queue'] })
    await expect(run).rejects.toThrow(/aborted/)
    expect(await leftBehind(service.url)).toEqual({ webhooks: [], chaos: [], timeWarp: 1 })
  } finally {
    await between.close()
  }
})
