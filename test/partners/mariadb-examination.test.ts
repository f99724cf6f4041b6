import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PartnerExamination } from '../../src/partner/examination.ts'
import { examinePartner, openPartnerSnapshot } from '../../src/partner/partner-snapshot.ts'
import { type MariadbPartner, openMariadbPartner } from './mariadb-partner.ts'

let partner: MariadbPartner
let looking: PartnerExamination
beforeAll(async () => {
  partner = await openMariadbPartner()
  await partner.run(`insert into hotel select concat('H-', seq), 'name', now(6), seq from seq_1_to_500`)
  looking = await examinePartner({ url: partner.url, statementTimeoutMs: 10_000 })
})
afterAll(async () => {
  await looking.close()
  await partner.close()
})

const hotels = { stream: 'properties', query: 'select code, at, number from hotel', columns: ['code'], fetchRows: 100 }

async function explain(cursor: string | null, query = hotels.query) {
  const snapshot = await openPartnerSnapshot({ url: partner.url, statementTimeoutMs: 10_000 })
  try {
    return await snapshot.explain({ ...hotels, query, cursor })
  } finally {
    await snapshot.close()
  }
}

describe('MariaDB, looked at', () => {
  test('says what it is, and what time it is', async () => {
    expect(looking.product).toMatch(/^MariaDB \d+\.\d+/)
    expect(Math.abs(Number(await looking.clock()) - Date.now())).toBeLessThan(5_000)
  })
  test('a role that may only read can write nothing, until it is granted something', async () => {
    expect(await looking.rights()).toEqual({ administrator: false, writes: [], count: 0, untold: null })
    const { username } = new URL(partner.url)
    await partner.run(`grant update (name) on hotel to '${username}'@'127.0.0.1'`)
    await partner.run(`grant create on \`${partner.database}\`.* to '${username}'@'127.0.0.1'`)
    const { writes } = await looking.rights()
    expect(writes).toEqual([`create on the database ${partner.database}`, `update on ${partner.database}.hotel.name`])
  })
  test('lists its tables with their columns', async () => {
    const hotel = (await looking.tables()).find(({ name }) => name === 'hotel')
    expect(hotel?.columns.map(({ name }) => name)).toEqual(expect.arrayContaining(['code', 'at', 'number']))
  })
  test('lists the tables of the database that the address names before those of any other', async () => {
    const copy = `a_copy_of_${partner.database}`
    await partner.root.query(`create database \`${copy}\``)
    try {
      await partner.root.query(`create table \`${copy}\`.hotel (code text)`)
      const { username } = new URL(partner.url)
      await partner.root.query(`grant select on \`${copy}\`.* to '${username}'@'127.0.0.1'`)
      const hotels = (await looking.tables()).filter(({ name }) => name === 'hotel')
      expect(hotels.map(({ schema }) => schema)).toEqual([partner.database, copy])
    } finally {
      await partner.root.query(`drop database \`${copy}\``)
    }
  })
  test('tells the rows it expects, and whether an index serves the cursor', async () => {
    expect(await explain('at')).toMatchObject({ indexed: false })
    await partner.run('create index hotel_at on hotel (at)')
    const { rows, indexed } = await explain('at')
    expect(indexed).toBe(true)
    expect(rows).toBeGreaterThan(100)
    expect((await explain('number')).indexed).toBe(false)
    expect((await explain(null)).indexed).toBeNull()
    expect((await explain('at', 'select code, greatest(at, now(6)) as at, number from hotel')).indexed).toBe(false)
  })
})
