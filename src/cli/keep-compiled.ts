import { dirname, isAbsolute, join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Lets Node.js keep what it has compiled in a folder of the user's own, so that the next start finds it there. Without
 * such a folder nothing is kept and nothing is said: a start that takes longer is no trouble for anybody.
 * @returns the folder, or null where nothing is kept.
 */
export function keepCompiled(environment: Environment): string | null {
  // Node.js reads these variables itself: a user who named a folder has it already. Coverage is less exact with a
  // cache.
  if (isSet(environment.NODE_DISABLE_COMPILE_CACHE) || isSet(environment.NODE_COMPILE_CACHE)) return null
  if (isSet(environment.NODE_V8_COVERAGE)) return null
  try {
    const caches = cachesOf(environment, process.platform)
    if (caches === null) return null
    const { enableCompileCache } = process.getBuiltinModule('node:module')
    const folder = join(caches.folder, 'nightferry', 'compiled')
    if (!isOwnFolder(folder, caches.home)) return null
    return enableCompileCache(folder).directory ?? null
  } catch {
    return null
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}

/** Where programs keep what they can make again, and the user's home above it; null where the user has none. */
export function cachesOf(environment: Environment, platform: NodeJS.Platform): { folder: string; home: string } | null {
  const { HOME: home = '', XDG_CACHE_HOME: named = '', LOCALAPPDATA: local = '' } = environment
  if (platform === 'win32') return isAbsolute(local) ? { folder: local, home: local } : null
  if (isAbsolute(named)) return { folder: named, home: named }
  if (!isAbsolute(home)) return null
  return { folder: platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache'), home }
}

/**
 * Whether the folder is the user's own, and made if it was missing. Anyone else who can write there could have other
 * code run here. Under sudo the home can be another user's, who must not find files in it that only root may remove.
 * @throws what the system says when it cannot be made.
 */
function isOwnFolder(folder: string, home: string): boolean {
  const { accessSync, constants, existsSync, mkdirSync, statSync } = process.getBuiltinModule('node:fs')
  const user = process.getuid?.()
  const homeOwner = statSync(home, { throwIfNoEntry: false })?.uid ?? user
  if (homeOwner !== user) return false
  // Not `recursive`: that never ends where the system refuses a folder as if the one above it were missing, as in
  // /proc.
  for (const path of [dirname(dirname(folder)), dirname(folder), folder]) {
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
  }
  accessSync(folder, constants.W_OK)
  return [dirname(folder), folder].every((path) => {
    const { uid, mode } = statSync(path)
    return user === undefined || (uid === user && (mode & 0o022) === 0)
  })
}
