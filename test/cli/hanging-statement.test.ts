import { PassThrough } from 'node:stream'
import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import { openDatabase } from '../../src/cli/open-database.ts'
import { settings } from '../../src/config/schema.ts'
import { patience } from '../helpers/patience.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { stallingProxy } from '../helpers/stalling-proxy.ts'

test('a verb ends while a statement on its first connection does not', async () => {
  await using database = await testDatabase()
  await using proxy = await stallingProxy(database.url)
  const cli: Cli = {
    environment: {},
    workingFolder: '.',
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    signal: new AbortController().signal,
    now: () => new Date(),
  }
  const config = settings.parse({ exchange: {}, partner: {}, database: { url: proxy.url } })
  const opened = await openDatabase(cli, config, { access: 'read' })
  // The connection that asked for the schema is the only one, and takes the next question.
  expect(opened.pool.totalCount).toBe(1)
  proxy.stall()
  const question = sql`select 1`.execute(opened.db)
  const told = expect(question).rejects.toThrow('Connection terminated')
  await vi.waitFor(() => expect(opened.pool.idleCount).toBe(0), patience)
  await opened.close()
  await told
})
