import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cachesOf } from '../../src/cli/keep-compiled.ts'
import { nightferryProcess, workingFolder } from '../cli/nightferry-process.ts'

/** Calls the program with no cache but the one that it makes itself. */
async function version(folder: string, environment: Record<string, string>): Promise<void> {
  const { code, stdout, stderr } = await nightferryProcess(folder, ['--version'], {
    NODE_COMPILE_CACHE: '',
    ...environment,
  })
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' })
}

/** Files in what the program keeps under a home. */
async function keptIn(home: string): Promise<number> {
  const folder = join(home, '.cache/nightferry/compiled')
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return found.filter((entry) => entry.isFile()).length
}

test('what was compiled is kept in a folder that only the user can open', async () => {
  await using home = await workingFolder()
  await version(home.path, { HOME: home.path })
  expect(await keptIn(home.path)).toBeGreaterThanOrEqual(10)
  for (const folder of ['.cache', '.cache/nightferry', '.cache/nightferry/compiled'])
    expect((await stat(join(home.path, folder))).mode & 0o777).toBe(0o700)
  await version(home.path, { HOME: home.path })
})

test('XDG_CACHE_HOME says where what was compiled is kept', async () => {
  await using home = await workingFolder()
  await version(home.path, { HOME: home.path, XDG_CACHE_HOME: join(home.path, 'caches') })
  expect(await readdir(home.path)).toEqual(['caches'])
})

test('nothing is kept without a home, and nothing is said', async () => {
  await using folder = await workingFolder()
  await version(folder.path, {})
  await version(folder.path, { HOME: '' })
  await version(folder.path, { HOME: 'relative' })
  expect(await readdir(folder.path)).toEqual([])
})

test('nothing is kept in a home that cannot be written or is not there, and nothing is said', async () => {
  await using folder = await workingFolder()
  const file = join(folder.path, 'file')
  await writeFile(file, '')
  await version(folder.path, { HOME: file })
  // Nobody can make a folder there, not even root.
  await version(folder.path, { HOME: '/proc' })
  await version(folder.path, { HOME: '/proc/none' })
})

test('nothing is kept where others can write, because they could have their own code run', async () => {
  await using home = await workingFolder()
  const folder = join(home.path, '.cache/nightferry/compiled')
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o777)
  await version(home.path, { HOME: home.path })
  expect(await keptIn(home.path)).toBe(0)
})

test.each([
  ['NODE_DISABLE_COMPILE_CACHE', '1'],
  ['NODE_V8_COVERAGE', 'coverage'],
])('nothing is kept while %s is set', async (name, value) => {
  await using home = await workingFolder()
  await version(home.path, { HOME: home.path, [name]: value })
  expect(await keptIn(home.path)).toBe(0)
})

test('caches lie where each system wants them', () => {
  const home = '/home/one'
  expect(cachesOf({ HOME: home }, 'linux')).toEqual({ folder: '/home/one/.cache', home })
  expect(cachesOf({ HOME: home }, 'darwin')).toEqual({ folder: '/home/one/Library/Caches', home })
  expect(cachesOf({ HOME: home, XDG_CACHE_HOME: 'relative' }, 'linux')).toEqual({ folder: '/home/one/.cache', home })
  expect(cachesOf({}, 'linux')).toBeNull()
  expect(cachesOf({ HOME: home }, 'win32')).toBeNull()
})
