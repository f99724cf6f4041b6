import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'
import { webhookRules } from './webhook-rules.ts'

const service = await ofThisFile(openBroken())

test.each(webhookRules())('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
