import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import { openInBrowser } from '../../src/cli/open-in-browser.ts'
import { workingFolder } from './nightferry-process.ts'

const link = 'https://night.example/console/#once=abc-DEF_&"<123'
const patience = { timeout: 30_000, interval: 20 }
/** Long enough for the browser here, and short enough that nothing outlasts the tests for long. */
const shortlyS = 10

/** A machine whose browser writes down what it was given, and what the page there is. */
async function machine() {
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  const [home, bin, temporary] = ['home', 'bin', 'tmp'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [home, bin, temporary]) await mkdir(path)
  vi.stubEnv('TMPDIR', temporary)
  onTestFinished(() => void vi.unstubAllEnvs())
  const [given, page] = [join(folder.path, 'given'), join(folder.path, 'page')]
  const opener = join(bin, process.platform === 'darwin' ? 'open' : 'xdg-open')
  const read = `cat "\${1#file://}" > '${page}.new'; mv '${page}.new' '${page}'`
  await writeFile(opener, `#!/bin/sh\nprintf '%s\\n' "$*" > '${given}.new'\nmv '${given}.new' '${given}'\n${read}\n`)
  await chmod(opener, 0o755)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const cli: Cli = {
    environment: { DISPLAY: ':0', HOME: home, PATH: `${bin}:/usr/bin:/bin` },
    workingFolder: folder.path,
    stdout: silent,
    stderr: silent,
    signal: new AbortController().signal,
    now: () => new Date(),
  }
  return { cli, home, temporary, given, page, opener }
}

/** What the browser was given. */
async function givenAt(given: string): Promise<string> {
  await vi.waitFor(() => expect(existsSync(given)).toBe(true), patience)
  return (await readFile(given, 'utf8')).trim()
}

const isEmpty = (folder: string) => vi.waitFor(async () => expect(await readdir(folder)).toEqual([]), patience)

describe('nightferry console, when it opens the browser,', () => {
  it('gives it the address of a page that nobody else can read, and never the link', async () => {
    const { cli, home, given, page } = await machine()
    expect(await openInBrowser(cli, link, shortlyS)).toBe(true)
    const address = await givenAt(given)
    expect(address).not.toContain('once')
    const file = fileURLToPath(address)
    expect(file.startsWith(join(home, 'nightferry-console-'))).toBe(true)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(dirname(file))).mode & 0o777).toBe(0o700)
    const text = await givenAt(page)
    expect(text).toContain('content="0; url=https://night.example/console/#once=abc-DEF_&amp;&quot;&lt;123"')
  })

  it('leaves nothing behind when the time for the page is over', async () => {
    const { cli, home, temporary } = await machine()
    expect(await openInBrowser(cli, link, 0.1)).toBe(true)
    await isEmpty(home)
    await isEmpty(temporary)
  })

  it('uses the folder for temporary files where the home cannot be written or none is named', async () => {
    for (const home of ['/proc/nothing-can-be-made-here', '', 'relative']) {
      const { cli, temporary, given } = await machine()
      expect(await openInBrowser({ ...cli, environment: { ...cli.environment, HOME: home } }, link, shortlyS)).toBe(
        true,
      )
      expect(fileURLToPath(await givenAt(given)).startsWith(temporary)).toBe(true)
    }
  })

  it('opens none where no folder can be written, no screen is there or no opener is installed', async () => {
    const { cli, home, temporary, opener } = await machine()
    const opens = (environment: object) =>
      openInBrowser({ ...cli, environment: { ...cli.environment, ...environment } }, link)
    vi.stubEnv('TMPDIR', '/proc/nothing-can-be-made-here')
    expect(await opens({ HOME: '/proc/nor-here' })).toBe(false)
    vi.stubEnv('TMPDIR', temporary)
    if (process.platform === 'linux') expect(await opens({ DISPLAY: '' })).toBe(false)
    await rm(opener)
    expect(await opens({ PATH: home })).toBe(false)
    expect([...(await readdir(home)), ...(await readdir(temporary))]).toEqual([])
  })

  it('removes what was left behind earlier, and not what another one still needs', async () => {
    const { cli, home, temporary, given, page } = await machine()
    const left = [
      await mkdtemp(join(home, 'nightferry-console-')),
      await mkdtemp(join(temporary, 'nightferry-console-')),
    ]
    const needed = await mkdtemp(join(home, 'nightferry-console-'))
    for (const folder of left) await utimes(folder, new Date(0), new Date(Date.now() - 6 * 60_000))
    expect(await openInBrowser(cli, link, shortlyS)).toBe(true)
    await givenAt(given)
    await vi.waitFor(() => expect(existsSync(page)).toBe(true), patience)
    for (const folder of left) expect(existsSync(folder)).toBe(false)
    expect(existsSync(needed)).toBe(true)
  })
  it('leaves what people call by such a name', async () => {
    const { cli, home, given, page } = await machine()
    const [theirs, alike, file] = ['config', 'themes', 'abcdef'].map((name) => join(home, `nightferry-console-${name}`))
    const own = [theirs, alike, file] as string[]
    for (const folder of own.slice(0, 2)) await mkdir(folder)
    for (const folder of own.slice(0, 2)) await writeFile(join(folder, 'nightferry.yaml'), '')
    await writeFile(own[2] ?? '', '')
    for (const path of own) await utimes(path, new Date(0), new Date(Date.now() - 6 * 60_000))
    expect(await openInBrowser(cli, link, shortlyS)).toBe(true)
    await givenAt(given)
    await vi.waitFor(() => expect(existsSync(page)).toBe(true), patience)
    expect(own.filter((path) => !existsSync(path))).toEqual([])
    expect(own.slice(0, 2).filter((folder) => !existsSync(join(folder, 'nightferry.yaml')))).toEqual([])
  })
})
