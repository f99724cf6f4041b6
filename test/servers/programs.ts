import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const install = 'apt-get install postgresql pgbouncer systemd prometheus'

/**
 * Where Debian keeps the programs of its newest PostgreSQL, and which that is.
 * @throws {Error} saying what to install.
 */
export function debianPostgres(): { bin: string; major: number } {
  const place = '/usr/lib/postgresql'
  const majors = (existsSync(place) ? readdirSync(place) : []).map(Number).filter((major) => major >= 15)
  const major = Math.max(...majors)
  const bin = join(place, String(major), 'bin')
  if (!existsSync(join(bin, 'postgres'))) {
    throw new Error(`PostgreSQL is not installed, and these tests need one beside the embedded one. Debian: ${install}`)
  }
  return { bin, major }
}

/** @throws {Error} saying what to install. */
export function program(name: string): string {
  const found = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/bin'].map((folder) => join(folder, name)).find(existsSync)
  if (found === undefined) throw new Error(`${name} is not installed, and these tests need it. Debian: ${install}`)
  return found
}

/** The user as whom servers run that refuse to run as root; none if we are not root. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
  return { uid: ask('-u'), gid: ask('-g') }
}
