import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const world = await ofThisFile(startWorld({ migrated: true, hotels: 3, seed: 7 }))
const folder = await ofThisFile(workingFolder())

beforeAll(async () => {
  // Nobody at the service knows this hotel.
  await world.partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name) values (999, 'H-0999', 'Nobody heard of it')`,
  )
  expect(await call('run', 'nightly-sync', '--json')).toMatchObject({ code: 3 })
  expect(await marks()).toEqual([false])
})

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

/** Whether each rejected row is marked to be sent again. */
async function marks(): Promise<boolean[]> {
  const { stdout } = await call('rejected', '--json')
  return (JSON.parse(stdout) as { retry_asked: boolean }[]).map(({ retry_asked }) => retry_asked)
}

test.each([
  ['retry', '--reason'],
  ['retry', '--partner-id'],
  ['retry', '--stream'],
  ['rejected', '--reason'],
  ['resend', '--partner-id'],
  ['resend', '--stream'],
  ['accept-removals', '--reason'],
  ['accept-removals', '--partner-id'],
  ['restore', '--partner-id'],
  ['differences', '--partner-id'],
  ['changes', '--partner-id'],
  ['drift', '--stream'],
])('%s refuses an empty or blank %s, as an unset variable of a shell leaves it', async (verb, option) => {
  for (const text of ['', ' ']) {
    const { code, stdout, stderr } = await call(verb, option, text)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`option '${option}`)
    expect(stderr).toContain('A text is wanted')
  }
  expect(await marks()).toEqual([false])
})

test('retry --run marks nothing while the job is paused', async () => {
  expect(await call('jobs', 'pause', 'nightly-sync')).toMatchObject({ code: 0 })
  const { code, stderr } = await call('retry', '--all', '--run', '--json')
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('nightly-sync is paused') })
  expect(await marks()).toEqual([false])
  expect(await call('jobs', 'resume', 'nightly-sync')).toMatchObject({ code: 0 })
})

test('retry --run marks nothing while settings are missing that a run needs', async () => {
  const { code, stderr } = await call('retry', '--all', '--run', '--json', '--set', 'exchange.groupId=null')
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('exchange.groupId') })
  expect(await marks()).toEqual([false])
})

test('retry --run marks nothing while a run of another job is under way', async () => {
  await world.pool.query(`insert into run (job, trigger, scheduled_for, state, step)
    values ('push', 'cli', now(), 'running', 'push')`)
  const { code, stderr } = await call('retry', '--all', '--run', '--json')
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('A run is under way') })
  expect(await marks()).toEqual([false])
  await world.pool.query(`delete from run where job = 'push'`)
})

test('retry --run says what it marked although no run began, and does not end as if it had done nothing', async () => {
  // Somebody pauses the job between the mark and the start.
  await world.pool.query(`
    create function pause_meanwhile() returns trigger language plpgsql as $$ begin
      insert into nightferry.job_pause (job, paused_by) values ('nightly-sync', 'somebody')
        on conflict do nothing;
      return new;
    end $$;
    create trigger pause_meanwhile after update of retry_action on acceptance
      for each row execute function pause_meanwhile()`)
  const { code, stdout, stderr } = await call('retry', '--all', '--run', '--json')
  expect(code, stderr).toBe(1)
  expect(stderr).toContain('job_paused')
  expect(JSON.parse(stdout)).toMatchObject({
    dry_run: false,
    total: 1,
    rows: [{ partner_id: 'H-0999' }],
    run: null,
    error: { code: 'job_paused', message: expect.stringContaining('nightly-sync is paused') },
  })
  expect(await marks()).toEqual([true])
})

test('resend says of rows that changed since they were accepted what becomes of them', async () => {
  await world.pool.query(`update acceptance set accepted_hash = '\\x01' where partner_id = 'H-0999'`)
  const { stdout } = await call('resend', '--partner-id', 'H-0999', '--dry-run')
  expect(stdout).toContain('1 row would be sent again (properties: 1). Nothing was changed.')
  expect(stdout).toContain(
    '1 of them has changed since it was accepted, or the guard holds it: it goes out as it is now',
  )
  const told = await call('resend', '--partner-id', 'H-0999', '--dry-run', '--json')
  expect(JSON.parse(told.stdout)).toMatchObject({ total: 1, changed: 1, streams: [{ rows: 1, changed: 1 }] })
  await world.pool.query(`update acceptance set accepted_hash = null where partner_id = 'H-0999'`)
})

test('resend names in a dry run the streams of which it would mark nothing without --beyond-guard', async () => {
  const strict = ['--set', 'guard.minRows=1', '--set', 'guard.maxChangedShare=0']
  const asked = ['resend', '--stream', 'properties', ...strict]
  const refusal = 'That is more than the guard lets through (properties): without --beyond-guard nothing is marked.'
  const told = await call(...asked, '--dry-run')
  expect({ code: told.code, stdout: told.stdout }).toEqual({ code: 0, stdout: expect.stringContaining(refusal) })
  expect((await call(...asked, '--dry-run', '--beyond-guard')).stdout).not.toContain(refusal)
  expect(JSON.parse((await call(...asked, '--dry-run', '--json')).stdout)).toMatchObject({
    beyond_guard: ['properties'],
  })
  expect(await call(...asked)).toMatchObject({ code: 2, stderr: expect.stringContaining('Nothing was marked') })
})

test('resend marks nothing of a stream that no run sends, and says how much that is', async () => {
  await using settings = await workingFolder()
  await writeFile(join(settings.path, 'nightferry.yaml'), 'streams: { omissions: { query: select, cursor: x } }')
  const asked = ['resend', '--stream', 'properties']
  const told = await nightferry(settings.path, asked, world.environment())
  expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('No row can be marked.') })
  expect(told.stdout).toContain('3 more rows of streams that are not in the configuration: no run sends them')
  const json = await nightferry(settings.path, [...asked, '--json'], world.environment())
  expect(JSON.parse(json.stdout)).toMatchObject({ total: 0, unconfigured: 3 })
  const { rows } = await world.pool.query(`select from action where verb = 'resend'`)
  expect(rows).toEqual([])
})

test('retry and resend say how much waits because its hotel is suspended, and so does the record of it', async () => {
  await world.pool.query(`drop trigger pause_meanwhile on acceptance; update acceptance set retry_action = null`)
  expect(await call('hotels', 'suspend', 'H-0999', 'H-0001', '--reason', 'sold')).toMatchObject({ code: 0 })
  const waits = 'row of them is of suspended hotels, and waits until these are resumed: nightferry hotels lists them.'
  const some = await call('resend', '--stream', 'properties', '--dry-run', '--json')
  expect(JSON.parse(some.stdout)).toMatchObject({ streams: [{ rows: 3, suspended: 1 }] })
  expect((await call('resend', '--stream', 'properties')).stdout).toContain(
    `3 rows marked (properties: 3). The next run sends 2 of them again, once.\n1 ${waits}\n`,
  )
  expect((await call('retry', '--all')).stdout).toContain(
    `1 row marked (properties: 1). The next run sends none of them again, once.\n1 ${waits}\n`,
  )
  const { rows } = await world.pool.query<{ result: string }>(
    `select result from action where verb in ('retry', 'resend') order by action_id desc limit 2`,
  )
  expect(rows.map(({ result }) => result)).toEqual([
    '1 marked; they are sent again once their hotels are resumed',
    '3 marked; the next run sends 2 of them again, and the rest goes once its hotels are resumed',
  ])
  expect((await call('rejected')).stdout).toContain('sent once its hotel is resumed')
  expect(await call('hotels', 'resume', 'H-0999')).toMatchObject({ code: 0 })
  expect((await call('rejected')).stdout).toContain('retried by the next run')
})
