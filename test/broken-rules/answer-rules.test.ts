import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerRules } from './answer-rules.ts'
import type { BrokenService } from './broken-service.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'

let service: BrokenService
beforeAll(async () => {
  service = await openBroken()
})
afterAll(() => service.close())

test.each(answerRules())('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
