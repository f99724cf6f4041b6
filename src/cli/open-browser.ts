import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { withoutSettings } from '../config/environment.ts'
import type { Cli } from './cli.ts'

/** Who opens an address on this system; none where there is no screen to show it on. */
function openerOf({ environment }: Cli): string | null {
  if (process.platform === 'darwin') return 'open'
  if (process.platform !== 'linux') return null
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? 'xdg-open' : null
}

/** Opens an address in the person's browser. @returns whether there was one to ask. */
export async function openBrowser(cli: Cli, address: string): Promise<boolean> {
  const opener = openerOf(cli)
  if (opener === null) return false
  const child = spawn(opener, [address], { stdio: 'ignore', detached: true, env: withoutSettings(cli.environment) })
  try {
    await once(child, 'spawn')
    child.unref()
    return true
  } catch {
    return false
  }
}
