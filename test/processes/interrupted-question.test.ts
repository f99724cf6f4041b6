import { expect, test, vi } from 'vitest'
import { type Ended, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }

/** Waits until the server works on so many statements that are so. */
async function works(world: World, statements: number, condition: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await world.pool.query(
      `select query from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and ${condition}`,
    )
    expect(rows).toHaveLength(statements)
  }, patience)
}

async function interrupted({ child, ended }: Running): Promise<Ended> {
  child.kill('SIGINT')
  return await ended
}

test('SIGINT ends a query of nightferry sql at once, here and at the server', async () => {
  await using world = await startWorld({ migrated: true, hotels: 1 })
  await using folder = await workingFolder()
  const asked = start(folder.path, ['sql', 'select pg_sleep(600)', '--config', demoConfig], world.environment())
  const sleeping = `query = 'select pg_sleep(600)'`
  await works(world, 1, sleeping)
  expect(await interrupted(asked)).toEqual({ code: 130, signal: null, stdout: '', stderr: '' })
  await works(world, 0, sleeping)
}, 120_000)

const waiting = `application_name = 'nightferry' and wait_event_type = 'Lock'`

/** Interrupts a verb while its statement waits for a table that stays locked until nothing of it is left. */
async function interruptedAtLock(world: World, ...verb: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  const holder = await world.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('lock table acceptance in access exclusive mode')
    const asked = start(folder.path, [...verb, '--config', demoConfig], world.environment())
    await works(world, 1, waiting)
    const end = await interrupted(asked)
    await works(world, 0, waiting)
    return end
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}

test.each(['rejected', 'status'])(
  'SIGINT ends %s at once, here and at the server',
  async (verb) => {
    await using world = await startWorld({ migrated: true, hotels: 1 })
    expect(await interruptedAtLock(world, verb)).toEqual({ code: 130, signal: null, stdout: '', stderr: '' })
  },
  120_000,
)

test('SIGINT waits for a verb that changes something; one that is cut short leaves nothing that goes on at the server', async () => {
  await using world = await startWorld({ migrated: true, hotels: 1 })
  const { code, stdout, stderr } = await interruptedAtLock(world, 'retry', '--all')
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  expect(stderr).toContain('nightferry: shutdown_cut_short: ')
  expect(stderr).toContain('any other verb can be called again')
}, 120_000)
