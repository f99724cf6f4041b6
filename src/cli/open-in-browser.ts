import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withoutSettings } from '../config/environment.ts'
import type { Cli } from './cli.ts'

/** In this time a browser that has to be started first has read the page. Seconds. */
const keptForS = 60
/** What a machine that was switched off left behind; its link is over by then. Milliseconds. */
const leftAfterMs = 5 * 60_000

const prefix = 'nightferry-console-'
/** Of a folder that `makeFolder` made. */
const folderName = /^nightferry-console-[A-Za-z0-9]{6}$/
const pageName = 'console.html'

/**
 * Opens a link that is a secret in the person's browser. Other users of the machine see the arguments of every program,
 * so the browser is given the address of a page that only we can read, which leads on to the link.
 * @param keepForS when the page is removed, whether we have ended or not. Seconds.
 * @returns whether there was a browser to ask, and a folder that can be written.
 */
export async function openInBrowser(cli: Cli, link: string, keepForS: number = keptForS): Promise<boolean> {
  const opener = openerOf(cli)
  if (opener === null) return false
  const places = placesOf(cli)
  for (const place of places) await sweep(place)
  const folder = await makeFolder(places)
  if (folder === null) return false
  try {
    const file = join(folder, pageName)
    await writeFile(file, pageTo(link), { mode: 0o600 })
    const env = withoutSettings(cli.environment)
    // A program of its own: when the browser has read the page nobody can tell, and the person wants to go on.
    await leave('/bin/sh', ['-c', 'sleep "$1"; rm -rf -- "$2"', 'sh', String(keepForS), folder], env)
    await leave(opener, [pathToFileURL(file).href], env)
    return true
  } catch {
    await rm(folder, { recursive: true, force: true })
    return false
  }
}

/** Starts a program that goes on when we end. @throws when it cannot be started. */
async function leave(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(program, args, { cwd: '/', stdio: 'ignore', detached: true, env })
  await once(child, 'spawn')
  child.unref()
}

/** Who opens an address on this system; none where there is no screen to show it on. */
function openerOf({ environment }: Cli): string | null {
  if (process.platform === 'darwin') return 'open'
  if (process.platform !== 'linux') return null
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? 'xdg-open' : null
}

/** The home first: a browser in a snap sees its own folder for temporary files, and nothing hidden in the home. */
function placesOf({ environment: { HOME: home = '' } }: Cli): string[] {
  return [...(isAbsolute(home) ? [home] : []), tmpdir()]
}

/** A folder that is closed to all others, in the first place that can be written; null: none can. */
async function makeFolder(places: readonly string[]): Promise<string | null> {
  for (const place of places) {
    const made = await mkdtemp(join(place, prefix)).catch(() => null)
    if (made !== null) return made
  }
  return null
}

/**
 * Removes pages that were left behind of this user. A folder with anything else in it is somebody's own, whatever it is
 * called.
 */
async function sweep(place: string): Promise<void> {
  const names = await readdir(place).catch(() => [])
  for (const folder of names.filter((name) => folderName.test(name)).map((name) => join(place, name))) {
    const found = await lstat(folder).catch(() => null)
    if (!found?.isDirectory() || found.uid !== process.getuid?.() || Date.now() - found.mtimeMs <= leftAfterMs) continue
    const inside = await readdir(folder).catch(() => null)
    if (inside === null || inside.some((name) => name !== pageName)) continue
    await rm(join(folder, pageName), { force: true })
    await rmdir(folder).catch(() => {})
  }
}

/** A page that leads on at once, and leaves no entry in the browser's history. */
function pageTo(link: string): string {
  const address = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${address}">
<title>Nightferry</title>
<a href="${address}">The console of Nightferry</a>
`
}
