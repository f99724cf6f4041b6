import { expect, test } from 'vitest'
import { needsPerson, type RehearsedNight } from '../../src/rehearsal/result/rehearsed-night.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const patienceMs = 600_000

/** What the exit code of a rehearsal is told by. */
type Judged = Parameters<typeof needsPerson>[0]

const well: Judged = { refused: [], kept: [], held: [], newlyParked: 0, streams: [] }
const stream = { unknown: 0, awaited: 0, behind: 0 } as RehearsedNight['streams'][number]

test.each<[string, Partial<Judged>, boolean]>([
  ['nothing is amiss', { streams: [stream] }, false],
  ['a row is parked that was not', { newlyParked: 1 }, true],
  ['the fate of a row is unknown', { streams: [stream, { ...stream, unknown: 1 }] }, true],
  ['the task of a row has not ended', { streams: [{ ...stream, awaited: 1 }] }, true],
  ['a row waits behind a task that has not ended', { streams: [{ ...stream, behind: 1 }] }, true],
])('a rehearsal in which %s says whether it needs a person', (_, part, needed) => {
  expect(needsPerson({ ...well, ...part })).toBe(needed)
})

test(
  'rehearse ends with 3 if a row would be parked that is not, and with 0 if those that are parked stay so',
  async () => {
    await using world = await startWorld({ migrated: true, hotels: 3, seed: 7 })
    await using folder = await workingFolder()
    const call = async (...args: string[]) => {
      await using empty = await testDatabase({ template: 'empty' })
      const environment = { ...world.environment(), REHEARSAL_DATABASE_URL: empty.url }
      return await nightferry(folder.path, [...args, '--config', demoConfig, '--set', 'push.retries=[]'], environment)
    }
    // The service rejects its mapping, tonight and in no night after it while it is unchanged.
    await world.partnerPool.query(
      `insert into hotelier.hotel (hotel_id, code, name) values (999, 'H-0999', 'Nobody heard of it')`,
    )
    expect(await call('run', 'nightly-sync')).toMatchObject({ code: 3 })
    const same = await call('rehearse')
    expect(same.code, same.stdout).toBe(0)

    await world.partnerPool.query(
      `insert into hotelier.calculation_setting (hotel_id, automatic_yearly_calculation, automatic_publishing)
       values (999, true, false)`,
    )
    const parking = await call('rehearse')
    expect(parking.stdout).toContain('1 row would be parked that is not parked now')
    expect(parking.code, parking.stderr).toBe(3)

    expect(await call('run', 'nightly-sync')).toMatchObject({ code: 3 })
    const parked = await call('rehearse')
    expect(parked.stdout).not.toContain('would be parked')
    expect(parked.code, parked.stderr).toBe(0)
  },
  patienceMs,
)
