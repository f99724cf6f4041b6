import { execFileSync } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const common = ['--config', demoConfig]
const patience = { timeout: 60_000, interval: 50 }

test('a restore that is killed in its middle leaves the database empty, verbs say so, and the next restore is whole', async () => {
  await using world = await startWorld({ hotels: 1, migrated: true })
  await using target = await testDatabase({ template: 'empty' })
  await using folder = await workingFolder()
  // So much that the half of it is more than what waits in pipes and buffers.
  await world.pool.query(`
    insert into source_row (stream, partner_id, row_key, content, desired_hash)
    select 'properties', 'H-' || n, 'H-' || n, jsonb_build_object('name',
        (select string_agg(md5(n || '-' || part), '') from generate_series(1, 20) part)), decode(md5(n::text), 'hex')
    from generate_series(1, 20000) n`)
  const file = join(folder.path, 'night.backup')
  const taken = await nightferry(folder.path, ['backup', '--out', file, ...common], world.environment())
  expect(taken, taken.stderr).toMatchObject({ code: 0 })

  const pipe = join(folder.path, 'half.backup')
  execFileSync('mkfifo', [pipe])
  const environment = { ...world.environment(), DATABASE_URL: target.url }
  const killed = start(folder.path, ['restore-backup', pipe, ...common], environment)
  const content = await readFile(file)
  const end = await open(pipe, 'w')
  await end.write(content.subarray(0, content.length / 2))
  await using client = new Client(target.url)
  const restoring = async () =>
    (await client.rows(`select query from pg_stat_activity where application_name = 'nightferry restore-backup'`)).map(
      ({ query }) => String(query),
    )
  await vi.waitFor(
    async () => expect(await restoring()).toEqual([expect.stringMatching(/^copy .*source_row/)]),
    patience,
  )
  killed.child.kill('SIGKILL')
  await killed.ended
  await end.close()
  await vi.waitFor(async () => expect(await restoring()).toEqual([]), patience)
  expect(await client.rows(`select nspname from pg_namespace where nspname ~ '^nightferry'`)).toEqual([])

  const asked = await nightferry(folder.path, ['status', ...common], environment)
  expect(asked).toMatchObject({ code: 1, stdout: '' })
  expect(asked.stderr).toContain('schema_missing')
  expect(await client.rows(`select nspname from pg_namespace where nspname ~ '^nightferry'`)).toEqual([])
  const again = await nightferry(folder.path, ['restore-backup', file, ...common], environment)
  expect(again, again.stderr).toMatchObject({ code: 0 })
  const sum = `select count(*)::int as rows, md5(string_agg(content::text, '' order by row_id)) as sum from nightferry.source_row`
  expect(await client.rows(sum)).toEqual((await world.pool.query(sum)).rows)
  const third = await nightferry(folder.path, ['restore-backup', file, ...common], environment)
  expect(third).toMatchObject({ code: 1, stdout: '' })
  expect(third.stderr).toContain('database_not_empty')
}, 300_000)

class Client implements AsyncDisposable {
  readonly #connected: Promise<pg.Client>

  constructor(connectionString: string) {
    const client = new pg.Client({ connectionString })
    this.#connected = client.connect().then(() => client)
  }

  async rows(text: string): Promise<Record<string, unknown>[]> {
    return (await (await this.#connected).query<Record<string, unknown>>(text)).rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#connected).end()
  }
}
