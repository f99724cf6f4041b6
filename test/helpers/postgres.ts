import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { type Template, templateDatabase } from './global-setup.ts'
import { keptSecrets } from './kept-secrets.ts'
import { reportLeak } from './leaks.ts'

export type TestDatabase = { url: string; name: string } & AsyncDisposable

/** Databases that this test file made. */
const made: string[] = []

/**
 * A database of the caller's own, cloned from a template: `migrated` has our newest schema, `empty` has nothing. Its
 * address has the password of Nightferry's own database, or of a partner's.
 *
 * It is dropped at the end of the test file if that passed, and kept, with its name printed, if it failed. Disposing
 * it early drops nothing, because whether the test failed is not known yet: it closes the connections left open.
 */
export async function testDatabase(
  { template, partner = false }: { template: Template; partner?: boolean } = { template: 'migrated' },
): Promise<TestDatabase> {
  const { adminUrl, partnerUrl, folder } = inject('postgres')
  const name = `test_${randomBytes(6).toString('hex')}`
  await writeFile(join(folder, 'databases', name), expect.getState().testPath ?? '')
  made.push(name)
  await asAdmin(adminUrl, async (client) => {
    const source = client.escapeIdentifier(templateDatabase(template))
    await client.query(`create database ${client.escapeIdentifier(name)} template ${source} strategy file_copy`)
  })
  const url = new URL(partner ? partnerUrl : adminUrl)
  url.pathname = name
  return {
    url: url.href,
    name,
    [Symbol.asyncDispose]: () => asAdmin(adminUrl, (client) => closeConnections(client, name)),
  }
}

/**
 * Ends the databases of this test file: looked through for secrets and dropped when it passed, named on standard error
 * when it failed.
 */
export async function finishDatabases(failed: boolean): Promise<void> {
  const { adminUrl, folder } = inject('postgres')
  const names = made.splice(0)
  if (names.length === 0) return
  if (failed) {
    process.stderr.write(`Kept, because this file failed: ${names.join(', ')}\n`)
    return
  }
  for (const name of names) {
    const { href } = Object.assign(new URL(adminUrl), { pathname: name })
    for (const table of await keptSecrets(href)) reportLeak(`a row of ${table} in the database ${name}`)
  }
  await asAdmin(adminUrl, async (client) => {
    for (const name of names) {
      await client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`)
      await rm(join(folder, 'databases', name), { force: true })
    }
  })
}

async function closeConnections(client: pg.Client, name: string): Promise<void> {
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
}

async function asAdmin(adminUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'nightferry tests' })
  client.on('error', () => {})
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
