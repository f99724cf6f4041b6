import { beforeEach, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { startTwoDestinations } from './two-destinations.ts'

const two = await ofThisFile(startTwoDestinations())
beforeEach(async () => {
  await two.world.pool.query('truncate run, source_row cascade')
})

test('tonight tells of no run that carried the data to another destination', async () => {
  await two.night({ destination: two.elsewhere })
  type Tonight = {
    run: object | null
    sentence: string
    fresh: boolean
    fresh_words: string
    typical_ms: number | null
  }
  const told = () => two.answer<Tonight>('/v1/tonight')
  expect(await told()).toMatchObject({
    run: null,
    sentence: 'No night has run yet for the destination in use.',
    fresh: false,
    typical_ms: null,
  })
  await expect(two.api.text('/freshz')).rejects.toThrow(/503.*No run has carried the data through/)
  const run = await two.night()
  expect(await told()).toMatchObject({ run: { run_id: run }, fresh: true, typical_ms: 3_600_000 })
})

test('the nights that went to another destination stay in the list of nights', async () => {
  const run = await two.night({ destination: two.elsewhere })
  expect(await two.answer('/v1/nights')).toMatchObject({ nights: [{ run_id: run }] })
})

test('the page of the service lists no task of another one, and the page of that run does', async () => {
  const [there, here] = [await two.night({ destination: two.elsewhere }), await two.night()]
  const [first, second] = [await two.request(there), await two.request(here)]
  const listed = async (path: string, list: string) => {
    const found = (await two.answer<Record<string, { submission_id: number }[]>>(path))[list]
    return found?.map(({ submission_id }) => submission_id)
  }
  expect(await listed('/v1/service', 'tasks')).toEqual([second])
  expect(await listed(`/v1/runs/${there}/live`, 'submissions')).toEqual([first])
})

test('a request of a hotel names the destination that took it, where that is not the one in use', async () => {
  const [there, here] = [await two.night({ destination: two.elsewhere }), await two.night()]
  const [first, second] = [await two.request(there), await two.request(here)]
  expect(await two.answer('/v1/hotels/H-1')).toMatchObject({
    submissions: [
      { submission_id: first, destination: 'staging' },
      { submission_id: second, destination: null },
    ],
  })
})
