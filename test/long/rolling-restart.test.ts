import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { migrationNames } from '../../src/db/migration-names.ts'
import { cloneIn } from '../cli/copies.ts'
import { missedRun } from '../cli/missed-run.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether } from '../helpers/request-log.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const patience = { timeout: 120_000, interval: 20 }
const size = { hotels: 5, durations: { processing: { companyMappings: { baseMs: 4_000, perItemUs: 0 } } } }
const serve = ['serve', '--config', demoConfig]

/** The migration that only the newer version has. */
const added = '9999-added'

/** Makes the sources of a copy those of a newer version: it has one more migration. */
async function makeNewer(folder: string): Promise<void> {
  const change = async (file: string, from: RegExp, to: string) => {
    const path = join(folder, 'src', 'db', file)
    const text = await readFile(path, 'utf8')
    const changed = text.replace(from, to)
    if (changed === text) throw new Error(`${file} is no longer as this test changes it`)
    await writeFile(path, changed)
  }
  await writeFile(
    join(folder, 'src', 'db', 'migrations', `${added}.ts`),
    `import { type Kysely, sql } from 'kysely'
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql\`alter table run add column of_the_newer_version text\`.execute(db)
}
`,
  )
  await change('migration-names.ts', /\] as const/, `  '${added}',\n] as const`)
  await change('migrations/index.ts', /\n}\s*$/, `\n  '${added}': added,\n}\nimport * as added from './${added}.ts'\n`)
}

test('daemons that are restarted one after the other with a newer version, which migrates in mid-run, lose nothing and double nothing', async () => {
  await using calm = await startWorld(size)
  await using world = await startWorld(size)
  await using folder = await workingFolder()
  await using newer = await cloneIn('newer')
  await makeNewer(newer.folder)
  const newerMain = join(newer.folder, 'src', 'main.ts')
  const uninterrupted = await nightferry(
    folder.path,
    ['run', 'nightly-sync', '--config', demoConfig],
    calm.environment(),
  )
  expect([0, 3], uninterrupted.stderr).toContain(uninterrupted.code)

  const environment = { ...(await missedRun(world)), NIGHTFERRY_ENGINE_HEARTBEAT_SECONDS: '10' }
  const older = [start(folder.path, serve, environment), start(folder.path, serve, environment)]
  await vi.waitFor(async () => {
    expect((await world.pool.query(`select from submission where state = 'accepted'`)).rows).toHaveLength(1)
  }, patience)

  // The first is stopped and started as the newer version; the second is still the older one when the schema changes.
  older[0]?.child.kill('SIGTERM')
  expect((await older[0]?.ended)?.code).toBe(143)
  const first = start(folder.path, serve, environment, newerMain)
  await vi.waitFor(async () => {
    const { rows } = await world.pool.query('select name from kysely_migration order by name desc limit 1')
    expect(rows).toEqual([{ name: added }])
  }, patience)
  expect(migrationNames).not.toContain(added)
  const left = await older[1]?.ended
  expect(left?.code, left?.stderr).toBe(1)
  expect(left?.stderr).toContain('schema_newer')
  const second = start(folder.path, serve, environment, newerMain)

  await vi.waitFor(async () => {
    const { rows } = await world.pool.query(`select state from run where trigger = 'missed'`)
    expect(rows).toEqual([{ state: 'finished' }])
  }, patience)
  for (const daemon of [first, second]) {
    // Before it listens to signals, one ends it without a word.
    await vi.waitFor(() => expect(daemon.stderr()).toContain('"service_started"'), patience)
    daemon.child.kill('SIGTERM')
    const { code, stderr } = await daemon.ended
    expect(code, stderr).toBe(143)
  }
  expect(await finalTables(world.pool)).toEqual(await finalTables(calm.pool))
  expect(await sentTooEarly(world.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
  const { rows } = await world.sandboxPool.query(
    `select count(*)::int as sent from request_log where path like '%/company-mappings' and phase = 'received'`,
  )
  expect(rows).toEqual([{ sent: 1 }])
}, 240_000)
