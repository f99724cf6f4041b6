import { expect, test } from 'vitest'
import { openBrokenService } from '../broken-rules/broken-service.ts'
import { conform, leftBehind, openService } from './conform.ts'

test('a run that is stopped while it makes trouble takes down what it set up', async () => {
  await using service = await openService({ companies: 20, allowInsecureWebhooks: true })
  const between = await openBrokenService(service)
  const stop = new AbortController()
  let stood: Awaited<ReturnType<typeof leftBehind>> | undefined
  try {
    between.break({
      answer: async ({ path }) => {
        if (stop.signal.aborted || path.startsWith('/sandbox/')) return
        const standing = await leftBehind(service.url)
        if (standing.chaos.length === 0 || standing.webhooks.length === 0) return
        stood = standing
        stop.abort()
      },
    })
    await expect(conform(between.url, { administration: true, signal: stop.signal })).rejects.toThrow(/aborted/)
  } finally {
    await between.close()
  }
  expect(stood?.webhooks).toHaveLength(1)
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
