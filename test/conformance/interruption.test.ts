import { expect, test, vi } from 'vitest'
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
