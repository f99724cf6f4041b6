import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** A copy of the code beside which no driver is installed but those of PostgreSQL. */
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nightferry-drivers-'))
  await cp(join(root, 'src/partner'), join(folder, 'partner'), { recursive: true })
  for (const file of ['db/copy-text.ts', 'config/database-address.ts']) {
    await cp(join(root, 'src', file), join(folder, file))
  }
  await mkdir(join(folder, 'node_modules'))
  for (const name of ['kysely', 'pg', 'pg-cursor', 'pg-copy-streams']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it.each([
  ['mysql://u:geheim@127.0.0.1:1/db', 'mysql2'],
  ['mariadb://u:geheim@127.0.0.1:1/db', 'mysql2'],
  ['sqlserver://u:geheim@127.0.0.1:1/db', 'tedious'],
  ['mssql://u:geheim@127.0.0.1:1/db', 'tedious'],
])('the error says what to install when the driver of %s is not there', async (url, packages) => {
  const program = `
    import { openPartnerSnapshot } from './partner/partner-snapshot.ts'
    await openPartnerSnapshot({ url: process.argv[1], statementTimeoutMs: 0 }).catch(({ code, message }) => console.log(code + ': ' + message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, url], {
    cwd: folder,
    env: {},
  })
  expect(stdout).toMatch(new RegExp(`^partner_driver_missing: .*npm install ${packages},`))
  expect(stdout).not.toContain('geheim')
})
