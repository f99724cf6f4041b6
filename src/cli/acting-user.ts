import { hostname, userInfo } from 'node:os'
import type { Actor } from '../db/actions/record-action.ts'
import { storableText } from '../db/storable.ts'
import type { Cli } from './cli.ts'

/** Who acts, for the table of actions: the user of the operating system, and behind sudo the one who called it. */
export function actingUser({ environment }: Cli): Actor {
  const behind = environment.SUDO_USER
  const user = behind === undefined || behind === '' ? userName() : `${userName()} (sudo by ${behind})`
  return { user: storableText(user), host: hostname() }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number that no user has.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
