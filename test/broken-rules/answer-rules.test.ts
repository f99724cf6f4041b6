import { expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { answerRules } from './answer-rules.ts'
import { judgeBroken, openBroken } from './judge-broken.ts'

const service = await ofThisFile(openBroken())

test.each(answerRules())('$statement tells that $rule', async (rule) => {
  expect(await judgeBroken(service, rule)).toMatchObject({ verdict: 'differs', isBroken: true })
})
