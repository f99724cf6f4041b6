import { beforeEach, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { declined, energy, openJudgedLedger, row } from './judged-ledger.ts'

const table = await ofThisFile(openJudgedLedger())
beforeEach(async () => {
  await table.ferry.clear()
  await table.knowFramework()
})

/** Judges with a configuration from which a stream was taken out. */
async function judgeWithout(stream: string) {
  const { properties } = table.deps.config.streams
  const left = streamNames.filter((name) => name !== stream).map((name) => [name, properties])
  const config = { ...table.deps.config, streams: Object.fromEntries(left) }
  return await table.judge({ config })
}

const land = async (stream: string, key: string, content: object, hotel = 'H-1') =>
  await table.ferry.ledger.land(stream, [row(key, content as Record<string, unknown>, hotel)])

it.each([
  ['of the same hotel', 'H-1'],
  ['of another hotel of its company', 'H-2'],
])('a declined question %s contradicts no answer once no run reads what is declined', async (_, hotel) => {
  await table.mapTogether('H-1', 'H-2')
  await land('omissions', 'declined', declined, hotel)
  await table.judge()
  await table.accept('declined')
  await land('framework_answers', 'answer', energy)
  expect(await judgeWithout('omissions')).toMatchObject({ contradicting: 0 })
  expect(await table.reasons()).toMatchObject({ answer: null })
})

it('an answer that was invalid over a declined question is freed once no run reads what is declined', async () => {
  await land('omissions', 'declined', declined)
  await table.judge()
  await table.accept('declined')
  await land('framework_answers', 'answer', energy)
  expect(await table.judge()).toMatchObject({ contradicting: 1 })
  await judgeWithout('omissions')
  expect(await table.reasons()).toMatchObject({ answer: null })
})

it('a declined question contradicts no answer that no run reads any more', async () => {
  await land('framework_answers', 'answer', energy)
  await table.judge()
  await table.accept('answer')
  await land('omissions', 'declined', declined)
  expect(await table.judge()).toMatchObject({ contradicting: 1 })
  expect(await judgeWithout('framework_answers')).toMatchObject({ contradicting: 0 })
  expect(await table.reasons()).toMatchObject({ declined: null })
})
