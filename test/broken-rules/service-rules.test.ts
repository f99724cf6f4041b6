import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'
import { serviceRules } from './service-rules.ts'

const service = await ofThisFile(openBroken())

test.each(serviceRules(() => service))('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
