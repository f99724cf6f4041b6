import { expect, test } from 'vitest'
import { conform, notHolding } from '../conformance/conform.ts'
import { everything, freshly, openBroken } from './judge-broken.ts'

test('every statement holds through the proxy while it breaks no rule', async () => {
  const service = await openBroken()
  try {
    const { entries } = await conform(service.url, { ...everything, writing: freshly(2014) })
    expect(notHolding(entries)).toEqual([])
  } finally {
    await service.close()
  }
}, 240_000)
