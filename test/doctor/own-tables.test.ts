import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { judgeTables } from '../../src/doctor/judge-own-database.ts'
import { serverFacts, tableFacts } from '../../src/doctor/own-database-checks.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { openFerry } from '../pipeline/push/ferry.ts'

const ferry = await ofThisFile(openFerry())

it('the remedy for dead rows and old statistics is a command that the server takes, of each of our tables', async () => {
  const { db } = ferry.ledger
  const now = new Date()
  const server = await serverFacts(db)
  const tables = await tableFacts(db)
  const names = tables.map(({ table }) => table)
  expect(names).toContain('nightferry.run')
  expect(names.some((name) => name.startsWith('nightferry_queue.'))).toBe(true)
  for (const facts of some(tables)) {
    const found = judgeTables([{ ...facts, dead: 400_000, live: 3_000, analyzed_at: null }], server, null, now)
    const commands = found.flatMap(({ todo }) => /^(?:vacuum )?analyze [^,;]+/.exec(todo ?? '') ?? [])
    expect(commands, facts.table).toHaveLength(2)
    for (const command of commands) await sql.raw(command).execute(db)
    expect(found[0]?.what).toContain(facts.table)
  }
})
