import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether } from '../helpers/request-log.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const command = ['run', 'nightly-sync', '--json', '--config', demoConfig]
const settings = [
  'push.maxCompaniesPerMapping=30',
  'push.maxAnswersPerUpsert=200',
  'push.uncertainGraceMs=300',
].flatMap((setting) => ['--set', setting])

/**
 * Instants from 0.4 to 2.6 seconds after a start, the same in every run of the test: what they hit varies enough. On a
 * machine that is so busy that a start alone takes longer they grow, from the twentieth on.
 */
function* instants(): Generator<number> {
  for (let state = 20_261_121, nth = 0; ; nth += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    yield (400 + (state % 2_200)) * Math.max(1, nth / 20)
  }
}

test('a run that is killed again and again finishes with the same tables', async () => {
  const size = { hotels: 120, pageSize: 10 }
  await using calm = await startWorld(size)
  await using harsh = await startWorld(size)
  await using folder = await workingFolder()
  expect(await nightferry(folder.path, [...command, ...settings], calm.environment())).toMatchObject({ code: 3 })

  let kills = 0
  for (const instant of instants()) {
    const victim = start(folder.path, [...command, ...settings], harsh.environment())
    const outcome = await Promise.race([victim.ended, delay(instant, 'alive' as const)])
    if (outcome !== 'alive') {
      expect(outcome, outcome.stderr).toMatchObject({ code: 3, signal: null })
      break
    }
    victim.child.kill('SIGKILL')
    if (victim.child.exitCode === null && victim.child.signalCode === null) await once(victim.child, 'exit')
    if (victim.child.signalCode === 'SIGKILL') kills += 1
    // A run that never gets on must fail the test, not hold it up.
    expect(kills).toBeLessThan(80)
  }
  expect(kills).toBeGreaterThan(2)
  expect(await finalTables(harsh.pool)).toEqual(await finalTables(calm.pool))
  expect(await sentTooEarly(harsh.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(harsh.sandboxPool)).toEqual([])
})
