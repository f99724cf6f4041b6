import { execFile } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Writable } from 'node:stream'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { sql } from '../../src/cli/verbs/readers.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

const run = promisify(execFile)

test('sql without a query prints a line that connects, and in which the password does not stand', async () => {
  await using folder = await workingFolder()
  await using database = await testDatabase({ template: 'migrated' })
  const stopping = new AbortController()
  let line = ''
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      line += chunk.toString()
      if (line.endsWith('\n')) stopping.abort()
      done()
    },
  })
  const cli = {
    environment: {},
    workingFolder: folder.path,
    stdout,
    stderr: new Writable({ write: (_chunk, _encoding, done) => done() }),
    signal: stopping.signal,
    now: () => new Date(),
  }
  const set = [`database.folder=${inject('postgres').folder}`, `database.name=${database.name}`]
  await sql(cli, undefined, { set }).catch((stopped: unknown) => expect(stopped).toBe(stopping.signal.reason))
  const password = (await readFile(join(inject('postgres').folder, 'postgres', 'password'), 'utf8')).trim()
  expect(line).not.toContain(password)

  // What the shell makes of the line, with a client that says how it was called.
  const psql = join(folder.path, 'psql')
  await writeFile(psql, `#!/bin/sh\nprintf '%s\\n' "$PGPASSWORD" "$@"\n`)
  await chmod(psql, 0o755)
  const environment = { PATH: [folder.path, '/usr/bin', '/bin'].join(delimiter) }
  const { stdout: called } = await run('/bin/sh', ['-c', line], { env: environment })
  const [given, url, ...more] = called.trimEnd().split('\n')
  expect({ given, url, more }).toEqual({
    given: password,
    url: `postgres://nightferry@${new URL(database.url).host}/${database.name}`,
    more: [],
  })
  const connectionString = Object.assign(new URL(url ?? ''), { password: given ?? '' }).href
  const client = new pg.Client({ connectionString })
  await client.connect()
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await client.end()
})

test.each(['postgres://h/db?user=u&password=secretpw1', 'postgres://u:secretpw1@h/db'])(
  'a rehearsal takes no database whose password stands on the command line: %s',
  async (database) => {
    await using folder = await workingFolder()
    const settings = {
      EXCHANGE_BASE_URL: 'https://exchange.example',
      EXCHANGE_API_KEY: 'a-key-of-some-length-0123456789',
      PARTNER_DATABASE_URL: 'postgres://h/partner',
    }
    const file = join(folder.path, 'nightferry.yaml')
    await writeFile(
      file,
      'exchange: { customIdentifierId: 0b8a3c9e-5d0f-4e0a-9f5b-6a1f5a0c7d11 }\nstreams: { properties: { query: "select 1", capture: snapshot } }\n',
    )
    const { code, stderr } = await nightferry(
      folder.path,
      ['rehearse', '--database', database, '--config', file],
      settings,
    )
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--database holds a password') })
    expect(stderr).not.toContain('secretpw1')
  },
)
