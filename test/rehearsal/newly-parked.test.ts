import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { countNewlyParked, noteParked } from '../../src/rehearsal/result/newly-parked.ts'
import { openLedger } from '../db/ledger/ledger.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'

const ledger = await ofThisFile(openLedger())
const requires = { properties: [], omissions: ['properties'] }

it('the rows that a rehearsal parks are those that were not parked before, also in a copy that is used again', async () => {
  await ledger.landChecked('omissions', [{ partner_id: 'H-1', content: { reason: 'r' } }])
  await noteParked(ledger.db, requires)
  expect(await countNewlyParked(ledger.db, requires)).toBe(0)
  await ledger.landChecked('omissions', [
    { partner_id: 'H-2', content: { reason: 'r' } },
    { partner_id: 'H-3', content: { reason: 'r' } },
  ])
  expect(await countNewlyParked(ledger.db, requires)).toBe(2)
  await noteParked(ledger.db, requires)
  expect(await countNewlyParked(ledger.db, requires)).toBe(0)
})

it('what a rehearsal notes of parked rows stands where it is dropped with the rest, and takes no schema of others away', async () => {
  await sql`create schema rehearsal create table of_others (n int)`.execute(ledger.db)
  try {
    await noteParked(ledger.db, requires)
    const { rows } = await sql`
      select to_regclass('rehearsal.of_others')::text as others,
             (select count(*)::int from pg_tables where tablename = 'parked_before' and schemaname = 'nightferry_rehearsal')
               as noted`.execute(ledger.db)
    expect(rows).toEqual([{ others: 'rehearsal.of_others', noted: 1 }])
  } finally {
    await sql`drop schema if exists rehearsal cascade`.execute(ledger.db)
  }
})
