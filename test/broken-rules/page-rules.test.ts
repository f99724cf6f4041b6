import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BrokenService } from './broken-service.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'
import { pageRules } from './page-rules.ts'

let service: BrokenService
beforeAll(async () => {
  service = await openBroken()
})
afterAll(() => service.close())

test.each(pageRules())('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
