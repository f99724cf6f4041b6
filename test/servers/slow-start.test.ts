import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { startWorld } from '../helpers/world.ts'
import { notifySocket } from './notify-socket.ts'

const patience = { timeout: 60_000, interval: 20 }

/** The statement never ends, and each further search is a job that is looked at before the start is over. */
const configuration = `
exchange: { customIdentifierId: ac348b3c-d73c-81dc-b3b0-34d994fa3e79 }
streams:
  properties:
    cursor: updated_at
    query: >-
      with recursive n(i) as (select 1 union all select i + 1 from n)
      select i as partner_id, 'Hotel' as name, null as street, null as latitude, null as longitude, null as country_code,
      null as airport_code, null as hotel_code, null as booking_id, '2026-11-21T02:00:00Z' as updated_at from n
pull:
  searches:
${Array.from({ length: 60 }, (_, index) => `    - { name: search_${index}, search: companiesSearch }`).join('\n')}
`

test('a start that resumes a run at a long statement on a SQLite file says that it is ready before it', async () => {
  await using world = await startWorld({ hotels: 1, migrated: true })
  await using folder = await workingFolder()
  await using socket = await notifySocket()
  const file = join(folder.path, 'hotels.db')
  new DatabaseSync(file).close()
  const config = join(folder.path, 'nightferry.yaml')
  await writeFile(config, configuration)
  const environment = {
    ...world.environment(),
    PARTNER_DATABASE_URL: pathToFileURL(file).href,
    NIGHTFERRY_HTTP_PORT: '0',
    PATH: '/usr/local/bin:/usr/bin:/bin',
    NOTIFY_SOCKET: socket.path,
    WATCHDOG_USEC: '120000000',
  }
  const migrated = await nightferry(folder.path, ['migrate', '--config', config], environment)
  expect(migrated, migrated.stderr).toMatchObject({ code: 0 })
  await world.pool.query(`insert into run (job, trigger, scheduled_for, state, step)
                          values ('nightly-sync', 'schedule', clock_timestamp(), 'running', 'extract')`)
  const daemon = start(folder.path, ['serve', '--config', config], environment)
  try {
    const ready = () => socket.messages().find((message) => 'READY' in message)
    await vi.waitFor(() => expect(ready()?.WATCHDOG_USEC).toBe('3720000000'), patience)
    const looks = async () => {
      const { rows } = await world.pool.query(`
        select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
        where locktype = 'advisory' and datname = current_database()`)
      return rows.length
    }
    await vi.waitFor(async () => expect(await looks()).toBeGreaterThan(0), patience)
    expect(daemon.stderr()).toContain('run_resumed')
    const { rows } = await world.pool.query('select state, step from run')
    expect(rows).toEqual([{ state: 'running', step: 'extract' }])
  } finally {
    daemon.child.kill('SIGKILL')
    await daemon.ended
  }
})
