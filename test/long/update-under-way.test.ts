import { execFile } from 'node:child_process'
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test, vi } from 'vitest'
import { start, workingFolder } from '../cli/nightferry-process.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { startWorld } from '../helpers/world.ts'
import { bearer, posted, tokens } from '../http/served.ts'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Two versions of the built program, as they lie in `dist`; the newer one differs in what pieces ask of each other. */
let versions: { old: string; new: string }
let place: Awaited<ReturnType<typeof workingFolder>>

/** Bundles what was compiled, always in the same folder, as a release is. */
async function bundled(compiled: string, name: string): Promise<string> {
  const [dist, result] = [join(place.path, 'dist'), join(place.path, name)]
  await cp(compiled, dist, { recursive: true })
  await execute(process.execPath, [join(root, 'build/bundle-program.ts'), dist])
  await rename(dist, result)
  return result
}

/** Where the API of a daemon listens, as its log says. */
function apiOf(log: string): string {
  return /"url":"([^"]+)"[^\n]*"http_started"/.exec(log)?.[1] ?? ''
}

beforeAll(async () => {
  place = await workingFolder()
  const compiled = join(place.path, 'compiled')
  const tsc = join(root, 'node_modules/.bin/tsc')
  await execute(tsc, ['-p', join(root, 'tsconfig.build.json'), '--outDir', compiled])
  const old = await bundled(compiled, 'old')
  // By the alphabet one comes before others, whose short names in the pieces then are other ones, and one after all.
  const added = 'export const addedSince = () => {}\nexport const youngest = () => {}\n'
  await appendFile(join(compiled, 'partner/partner-errors.js'), added)
  for (const user of ['sqlite-snapshot', 'mysql-snapshot']) {
    const file = join(compiled, `partner/${user}.js`)
    const text = await readFile(file, 'utf8')
    const used = `import { addedSince, youngest } from './partner-errors.js'\nglobalThis.added = [addedSince, youngest]\n`
    await writeFile(file, `${used}${text}`)
  }
  versions = { old, new: await bundled(compiled, 'new') }
  return () => place[Symbol.asyncDispose]()
})

test('no piece of a version has the name of another one of the next version', async () => {
  const piecesOf = async (version: string) => {
    const names = (await readdir(join(version, 'program'))).filter((name) => name.endsWith('.js'))
    return new Map(
      await Promise.all(
        names.map(async (name) => [name, await readFile(join(version, 'program', name), 'utf8')] as const),
      ),
    )
  }
  const [before, after] = [await piecesOf(versions.old), await piecesOf(versions.new)]
  expect(after).not.toEqual(before)
  for (const [name, text] of some([...after])) expect(before.get(name) ?? text, name).toBe(text)
})

test('a daemon under which a new version is installed reads a SQLite file that it had not read yet, and tells its status and what the doctor finds', async () => {
  await using world = await startWorld({ hotels: 2, migrated: true })
  const folder = join(place.path, 'installed')
  await mkdir(folder)
  for (const name of ['node_modules', 'config', 'package.json']) await symlink(join(root, name), join(folder, name))
  await cp(versions.old, join(folder, 'dist'), { recursive: true })
  const partner = join(place.path, 'partner.db')
  using file = new DatabaseSync(partner)
  file.exec(`create table hotel (code text, name text); insert into hotel values ('H-1', 'One')`)
  const config = join(place.path, 'nightferry.yaml')
  const { customIdentifierId, groupId } = world.config().exchange
  const query =
    'select code as partner_id, name, null as street, null as latitude, null as longitude, null as country_code, null as airport_code, null as hotel_code, null as booking_id from hotel'
  await writeFile(
    config,
    JSON.stringify({
      exchange: { customIdentifierId, groupId },
      streams: { properties: { query, capture: 'snapshot' } },
      http: { port: 0 },
    }),
  )
  const environment = {
    ...world.environment(),
    PARTNER_DATABASE_URL: pathToFileURL(partner).href,
    NIGHTFERRY_HTTP_TOKEN: tokens.act,
  }
  const daemon = start(place.path, ['serve', '--config', config], environment, join(folder, 'dist/main.js'))
  using cleanUp = new DisposableStack()
  cleanUp.defer(() => daemon.child.kill('SIGKILL'))
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"service_started"'), patience)
  await rm(join(folder, 'dist'), { recursive: true })
  await cp(versions.new, join(folder, 'dist'), { recursive: true })

  await world.pool.query(`insert into job_request (job) values ('nightly-sync')`)
  const state = async () => (await world.pool.query('select state from run')).rows
  await expect.poll(state, patience).toEqual([{ state: 'finished' }])
  expect((await world.pool.query('select partner_id from source_row')).rows).toEqual([{ partner_id: 'H-1' }])
  const headers = { ...Object.fromEntries(new Headers(posted({}).headers)), ...bearer(tokens.act) }
  const asked = await fetch(new URL('/v1/doctor', apiOf(daemon.stderr())), { ...posted({}), headers })
  const answer = await asked.text()
  expect(asked.status, answer).toBe(200)
  expect(answer).toContain('partner_reached')
  const { findings } = JSON.parse(answer) as { findings: { what: string }[] }
  const unloaded = /Cannot find module|does not provide an export/
  expect(findings.filter(({ what }) => unloaded.test(what))).toEqual([])
  // A run that is under way, for which the status has a forecast.
  await world.pool.query(
    `insert into run (job, trigger, scheduled_for, state, step)
     values ('nightly-sync', 'cli', clock_timestamp(), 'running', 'report')`,
  )
  const status = await fetch(new URL('/v1/status', apiOf(daemon.stderr())), { headers: bearer(tokens.act) })
  expect(status.status, await status.text()).toBe(200)
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toMatchObject({ code: 143 })
})
