import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BrokenService } from './broken-service.ts'
import { endpointRules } from './endpoint-rules.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'

let service: BrokenService
beforeAll(async () => {
  service = await openBroken()
})
afterAll(() => service.close())

test.each(endpointRules())('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
