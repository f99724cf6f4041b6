import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { licenceList } from '../../build/release/bill-of-materials.ts'
import { closeSection } from '../../build/release/changelog.ts'
import { packedFaults } from '../../build/release/packed-files.ts'

/** It clones, compiles and packs. Milliseconds. */
const patience = 400_000
const execute = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const leftOut = new Set(['node_modules', '.git', 'dist', 'release', 'coverage', '.nightferry'])

let clone: string
let version: string

beforeAll(async () => {
  clone = join(await mkdtemp(join(tmpdir(), 'nightferry-releasing-')), 'clone')
  for (const name of await readdir(root)) {
    if (!leftOut.has(name)) await cp(join(root, name), join(clone, name), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'))
  await git('init', '--quiet')
  await git('config', 'user.name', 'tests')
  await git('config', 'user.email', 'tests@example.com')
  // A link to the packages is none of those that a clone ignores as a folder.
  await writeFile(join(clone, '.git', 'info', 'exclude'), 'node_modules\n')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'As it is')
  version = (JSON.parse(await readFile(join(clone, 'package.json'), 'utf8')) as { version: string }).version
}, patience)

afterAll(() => rm(dirname(clone), { recursive: true, force: true }))

const env = () => ({ PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: dirname(clone) })

async function git(...args: string[]): Promise<string> {
  return (await execute('git', args, { cwd: clone, env: env() })).stdout.trim()
}

function release(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return execute('npm', ['run', '--silent', 'release', '--', ...args], { cwd: clone, env: env() }).then(
    (answer) => ({ code: 0, ...answer }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

test(
  'a dry run packs, lists the licences, tags in a copy, and leaves the project as it was',
  async () => {
    const before = await git('rev-parse', 'HEAD')
    const { code, stdout, stderr } = await release(version, '--dry-run')
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(new RegExp(`^nightferry-${version}\\.tgz: \\d+ files, \\d+ bytes$`, 'm'))
    expect(stdout).toMatch(/^\d+ dependencies, every licence known$/m)
    expect(stdout).toContain(`Tried in a copy, which is gone: commit, tag v${version}`)
    expect(await git('rev-parse', 'HEAD')).toBe(before)
    expect(await git('tag', '--list')).toBe('')
    expect(await git('status', '--porcelain', '--ignored')).not.toContain('release/')
  },
  patience,
)

test('a release of a version that the changelog does not have open, or with work that is not committed, is refused', async () => {
  expect(await release('99.0.0', '--dry-run')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('CHANGELOG.md has no section "## [99.0.0] - not released yet"'),
  })
  expect(await release('next')).toMatchObject({ code: 1, stderr: expect.stringContaining('Usage: npm run release') })
  await writeFile(join(clone, 'left-behind'), '')
  expect(await release(version)).toMatchObject({ code: 1, stderr: expect.stringContaining('left-behind') })
  await rm(join(clone, 'left-behind'))
  await git('tag', `v${version}`)
  expect(await release(version)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`a tag v${version} already`),
  })
  await git('tag', '--delete', `v${version}`)
})

test('the section of a version is closed with the day, and an empty one is refused', () => {
  const text =
    '# Changelog\n\n## [0.2.0] - not released yet\n\n### Added\n\n- A verb.\n\n## [0.1.0] - 2026-01-01\n\n- All.\n'
  expect(closeSection(text, '0.2.0', '2026-11-23')).toEqual({
    changelog: text.replace('not released yet', '2026-11-23'),
    section: '### Added\n\n- A verb.',
  })
  expect(() => closeSection(text, '0.3.0', '2026-11-23')).toThrow('[0.3.0]')
  expect(() => closeSection(text.replace('- A verb.', ''), '0.2.0', '2026-11-23')).toThrow('says nothing')
})

test('a package with a source, a map or a secret in it, or without its contract, is refused', () => {
  const paths = ['dist/cli/start.js', 'dist/cli/start.js.map', 'src/main.ts', 'config/.env', 'test/a.test.ts']
  const faults = packedFaults(paths)
  for (const path of paths.slice(1)) expect(faults).toContain(`${path} has no place there`)
  expect(faults).toContain('config/contract.yaml is missing')
  expect(faults.filter((fault) => fault.startsWith('dist/cli/start.js '))).toEqual([])
})

test('a licence that asks for more than its own text, or none, stops a release', () => {
  const one = (name: string, id?: string) => ({
    name,
    version: '1.0.0',
    ...(id !== undefined && { licenses: [{ license: { id } }] }),
  })
  expect(licenceList({ bomFormat: 'CycloneDX', components: [one('b', 'MIT'), one('a', 'ISC')] })).toBe(
    'a 1.0.0  ISC\nb 1.0.0  MIT\n',
  )
  const strange = { bomFormat: 'CycloneDX', components: [one('a', 'MIT'), one('b', 'AGPL-3.0-only'), one('c')] }
  expect(() => licenceList(strange)).toThrow('b 1.0.0: AGPL-3.0-only; c 1.0.0: none')
})
