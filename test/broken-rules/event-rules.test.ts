import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { eventRules } from './event-rules.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'

const service = await ofThisFile(openBroken())

test.each(eventRules())('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
