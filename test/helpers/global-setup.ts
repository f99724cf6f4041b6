import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrateToLatest } from '../../src/db/migrate-to-latest.ts'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { canaries } from './canaries.ts'
import {
  makeRunFolder,
  markKept,
  removeRunFolder,
  sharedSettings,
  sweepRunFolders,
  undroppedDatabases,
} from './test-cluster.ts'

/** What a test file needs to make databases of its own. The passwords of the addresses are canaries. */
export type PostgresForTests = { adminUrl: string; partnerUrl: string; folder: string }

declare module 'vitest' {
  interface ProvidedContext {
    postgres: PostgresForTests
  }
}

const templates = { empty: 'template_empty', migrated: 'template_migrated' } as const
export type Template = keyof typeof templates

export function templateDatabase(template: Template): string {
  return templates[template]
}

/** One cluster for the whole run, with the databases that tests clone. */
export default async function startCluster(project: TestProject): Promise<() => Promise<void>> {
  await sweepRunFolders()
  const folder = await makeRunFolder()
  // Vitest ends at once when it is interrupted, without teardown; only a synchronous program still runs then.
  const removeAtExit = () => {
    spawnSync(process.execPath, [fileURLToPath(new URL('remove-run-folder.ts', import.meta.url)), folder])
  }
  process.once('exit', removeAtExit)
  const cluster = await openCluster({
    folder: join(folder, 'postgres'),
    onNotice: (sentence) => process.stderr.write(`${sentence}\n`),
    settings: sharedSettings,
  })
  await cluster.ensureDatabase(templates.empty)
  await cluster.ensureDatabase(templates.migrated)
  const adminUrl = await withRole(cluster.url('postgres'), 'nightferry_tests', canaries.databasePassword)
  // By the role that the tests act as: it is to own the tables.
  await migrateToLatest(Object.assign(new URL(adminUrl), { pathname: templates.migrated }).href)
  await closeTemplates(cluster.url('postgres'))
  project.provide('postgres', {
    adminUrl,
    partnerUrl: await withRole(cluster.url('postgres'), 'partner_tests', canaries.partnerPassword),
    folder,
  })
  return async () => {
    await cluster.release()
    const undropped = await undroppedDatabases(folder)
    if (undropped.length === 0) await removeRunFolder(folder)
    else {
      await markKept(folder)
      process.stderr.write(howToLook(folder, undropped))
    }
    process.off('exit', removeAtExit)
  }
}

/** Makes a superuser and answers the address with its name and password. */
async function withRole(adminUrl: string, role: string, password: string): Promise<string> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(`create role ${role} superuser login password ${client.escapeLiteral(password)}`)
  } finally {
    await client.end()
  }
  return Object.assign(new URL(adminUrl), { username: role, password: encodeURIComponent(password) }).href
}

/** A database with a connection cannot be cloned; nobody needs one to a template any more. */
async function closeTemplates(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    for (const name of Object.values(templates)) {
      await client.query(`alter database ${client.escapeIdentifier(name)} with allow_connections false`)
    }
  } finally {
    await client.end()
  }
}

function howToLook(folder: string, databases: { name: string; file: string }[]): string {
  const list = databases.map(({ name, file }) => `  ${name}  ${file}\n`).join('')
  return `\nDatabases of test files that failed are kept in ${folder}:\n${list}To look at them: npx node test/helpers/open-kept.ts ${folder}\n`
}
