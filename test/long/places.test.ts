import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cloneIn, installedPackage } from '../cli/copies.ts'
import { workingFolder } from '../cli/nightferry-process.ts'
import { some } from '../helpers/some.ts'

/** Each copies, builds or runs the demo, on a machine that may be busy. Milliseconds. */
const patience = 240_000
const execute = promisify(execFile)
const sources = fileURLToPath(new URL('../../src', import.meta.url))

/** Runs a program to its end. What fails rejects, with both outputs. */
function run(cwd: string, file: string, args: string[]): Promise<{ stdout: string; stderr: string }> {
  const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
  return execute(file, args, { cwd, env: { PATH, HOME: cwd } })
}

/** The commands that the demo's last words offer, as a person copies them. */
function offered(stderr: string): string[] {
  return [...stderr.matchAll(/^ {2}((?:npm|npx|node) [^"]*"[^"]*")$/gm)].map(([, command]) => command ?? '')
}

let project: Awaited<ReturnType<typeof installedPackage>>

beforeAll(async () => {
  project = await installedPackage()
}, patience)

afterAll(() => project[Symbol.asyncDispose](), patience)

test(
  'the demo runs in a clone whose path has a space and a letter that is not ASCII',
  async () => {
    await using clone = await cloneIn('Nächte 100% fährt')
    const { stdout, stderr } = await run(clone.folder, process.execPath, ['src/main.ts', 'demo', '--hotels', '2'])
    expect(stdout.match(/^Run \d+/gm)).toHaveLength(2)
    expect(offered(stderr)[0]).toMatch(/^npm run -s nightferry -- sql --config config\/demo\.yaml /)
  },
  patience,
)

test(
  'what the demo of an installed package offers can be run there',
  async () => {
    const { stderr } = await run(project.folder, process.execPath, [project.main, 'demo', '--hotels', '2'])
    expect(stderr).not.toContain('npm run')
    const files = [...stderr.matchAll(/--config ([^\s,]+)/g)].map(([, file]) => file ?? '')
    expect(files.length).toBeGreaterThan(2)
    expect(files.filter((file) => !existsSync(resolve(project.folder, file)))).toEqual([])
    const commands = offered(stderr)
    expect(commands).toHaveLength(2)
    for (const command of some(commands)) {
      const { stdout } = await run(project.folder, 'sh', ['-c', command])
      expect(stdout.trim().split('\n').length, command).toBeGreaterThan(2)
    }
  },
  patience,
)

/** Makes a Node say that it is another one, and fail as an old one would when it is given more than it can read. */
const oldNode = `
Object.defineProperty(process.versions, 'node', { value: '20.20.2' })
const { registerHooks } = await import('node:module')
registerHooks({
  resolve(specifier, context, next) {
    if (context.parentURL !== undefined) throw new SyntaxError('an old Node cannot read ' + specifier)
    return next(specifier, context)
  },
})
`

test.each([
  ['the build', () => project.main],
  ['the sources', () => join(sources, 'main.ts')],
  ['the scripts of package.json', () => join(sources, 'from-sources.cjs')],
])(
  'an old Node that starts %s is told which version is needed, in one sentence',
  async (_, mainOf) => {
    await using folder = await workingFolder()
    const preload = join(folder.path, 'old-node.mjs')
    await writeFile(preload, oldNode)
    const failed: unknown = await run(folder.path, process.execPath, ['--import', preload, mainOf(), 'demo']).catch(
      (error: unknown) => error,
    )
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^nightferry: Nightferry needs Node\.js 24 or newer, and this is 20\.20\.2: .*\n$/),
    })
  },
  patience,
)

test('no source takes the path of a file address as it stands, with its percent signs', () => {
  const taking = /new URL\([^)]*import\.meta\.url[^)]*\)\.pathname/
  const folders = ['../../src', '../../bench', '..'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  )
  expect(files.length).toBeGreaterThan(500)
  expect(files.filter((file) => taking.test(readFileSync(file, 'utf8')))).toEqual([])
})
