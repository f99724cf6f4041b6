import { expect, test } from 'vitest'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

/** A world of which reference data were not taken, for a reason, and `nightferry reference --accept` in it. */
async function withheld(reason: string) {
  const world = await startWorld({ migrated: true, hotels: 1 })
  await world.pool.query(
    `insert into nightferry.reference_withheld (reason, first_seen_at, last_seen_at, times) values ($1, now(), now(), 1)`,
    [reason],
  )
  return {
    world,
    accept: async () => {
      await using folder = await workingFolder()
      return await nightferry(folder.path, ['reference', '--accept', '--config', demoConfig], world.environment())
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

test('what is accepted names frameworks as the service does, and drives no terminal', async () => {
  await using known = await withheld('data points of framework "\u001b]0;owned\u0007\u202e": 0, where 9 were known')
  const { code, stdout } = await known.accept()
  expect(code).toBe(0)
  expect(stdout).toContain(String.raw`framework "\u001b]0;owned\u0007\u202e"`)
})

test('what is accepted of reference data stands among the actions, with who accepted it', async () => {
  await using known = await withheld('groups: 0, where 3 were known')
  expect(await known.accept()).toMatchObject({ code: 0 })
  const { rows } = await known.world.pool.query(
    `select verb, asked, result, acted_by = accepted_by as by_the_same, acted_at = accepted_at as at_once
     from actions, reference_withheld`,
  )
  const accepted = { verb: 'reference', asked: { accept: 'groups: 0, where 3 were known' } }
  expect(rows).toEqual([{ ...accepted, result: 'the next run takes them', by_the_same: true, at_once: true }])
})
