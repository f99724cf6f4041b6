import { expect, test } from 'vitest'
import { checkModel } from './check-model.ts'

test('invariants 1 to 5 hold in every story of a partner whose changes are found by cursor', async () => {
  const played = await checkModel('cursor')
  console.log(JSON.stringify(played))
  if (process.env.MODEL_PATH !== undefined) return
  expect(played.tasks).toBeGreaterThan(played.stories)
  expect(played.deaths).toBeGreaterThan(0)
  expect(played.repeats).toBeGreaterThan(0)
})
