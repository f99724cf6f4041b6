import { PassThrough } from 'node:stream'
import { beforeEach, expect, test, vi } from 'vitest'
import { exitCodes } from '../../src/cli/cli.ts'
import { runVerb } from '../../src/cli/start.ts'
import { httpServer } from '../exchange/fault-server.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ hotels: 1, migrated: true }))
const folder = await ofThisFile(workingFolder())
beforeEach(async () => {
  await world.pool.query('truncate run, submission restart identity cascade')
  await world.pool.query(`
    insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', now(), 'running', 'push');
    insert into submission (run_id, kind, state, row_count, correlation_id)
    values (1, 'calculators_search', 'settled', 0, '0b6c2f4e-0000-4000-8000-000000000001'),
           (1, 'calculators_search', 'accepted', 0, '0b6c2f4e-0000-4000-8000-000000000002')`)
})

/** Runs a verb within the process of the test, and gives what `interrupt` needs to press Ctrl-C. */
async function interrupted(
  verb: readonly string[],
  interrupt: (press: () => void) => Promise<void>,
  changed: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const signal = new AbortController()
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const running = runVerb(
    {
      environment: { ...world.environment(), ...changed },
      workingFolder: folder.path,
      stdout,
      stderr,
      signal: signal.signal,
      now: () => new Date(),
    },
    [...verb, '--config', demoConfig],
  )
  await interrupt(() => signal.abort())
  const code = await running
  const said = (stream: PassThrough) => String(stream.read() ?? '')
  return { code, stdout: said(stdout), stderr: said(stderr) }
}

/** Presses Ctrl-C while the verb waits for a table, and lets it go on then. */
const atTable = (table: string) => async (press: () => void) => {
  const holder = await world.pool.connect()
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`)
    await vi.waitFor(async () => {
      const { rows } = await world.pool.query(
        `select from pg_stat_activity where datname = current_database()
         and application_name like 'nightferry%' and wait_event_type = 'Lock'`,
      )
      expect(rows).toHaveLength(1)
    }, patience)
    press()
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}

test.each([
  ['abandon 1', 'submission', /^nightferry: submission_state: Submission 1 is settled: nothing waits for it/],
  ['retry --partner-id H-9999', 'acceptance', /^nightferry: usage: Nothing was ever read of a hotel 'H-9999'/],
  ['destination same', 'destination', /^nightferry: usage: The configuration points to the destination in use/],
])('%s that is refused after Ctrl-C says so', async (verb, table, said) => {
  const { stdout, stderr } = await interrupted(verb.split(' '), atTable(table))
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: expect.stringMatching(said) })
})

test('a cancel whose call fails after Ctrl-C says that nobody knows what became of it', async () => {
  const asked = Promise.withResolvers<void>()
  const pressed = Promise.withResolvers<void>()
  await using service = await httpServer(async (_, response) => {
    asked.resolve()
    await pressed.promise
    response.writeHead(503).end()
  })
  const { code, stdout, stderr } = await interrupted(
    ['cancel', '2'],
    async (press) => {
      await asked.promise
      press()
      pressed.resolve()
    },
    { EXCHANGE_BASE_URL: service.url },
  )
  expect(service.seen).toMatchObject([{ path: expect.stringContaining('0b6c2f4e-0000-4000-8000-000000000002') }])
  expect({ code, stdout }).toEqual({ code: exitCodes.failed, stdout: '' })
  expect(stderr).toMatch(/^nightferry: exchange_failed: .*503/)
})

test('a migration that is refused after Ctrl-C says so', async () => {
  await world.pool.query(`insert into kysely_migration (name, timestamp) values ('9999_of_a_later_version', '')`)
  const { stdout, stderr } = await interrupted(['migrate'], atTable('kysely_migration'))
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: expect.stringMatching(/^nightferry: schema_newer: /) })
})
