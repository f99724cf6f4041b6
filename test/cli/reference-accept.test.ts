import { expect, test } from 'vitest'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

test('what is accepted names frameworks as the service does, and drives no terminal', async () => {
  await using world = await startWorld({ migrated: true, hotels: 1 })
  await using folder = await workingFolder()
  const call = (...args: string[]) => nightferry(folder.path, [...args, '--config', demoConfig], world.environment())
  await world.pool.query(
    `insert into nightferry.reference_withheld (reason, first_seen_at, last_seen_at, times)
     values (E'data points of framework "\\x1b]0;owned\\x07\\u202e": 0, where 9 were known', now(), now(), 1)`,
  )
  const { code, stdout } = await call('reference', '--accept')
  expect(code).toBe(0)
  expect(stdout).toContain(String.raw`framework "\u001b]0;owned\u0007\u202e"`)
})
