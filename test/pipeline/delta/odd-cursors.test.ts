import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, type Partner, propertiesQuery } from './partner.ts'
import { hotelsQuery, tables } from './partners.ts'

let ferry: Ferry
let partner: Partner
let folder: string
beforeAll(async () => {
  ferry = await openFerry()
  partner = await openPartner()
  await partner.pool.query('alter table hotel add version numeric, add measure double precision')
  folder = await mkdtemp(join(tmpdir(), 'nightferry-odd-cursors-'))
})
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query('truncate hotel')
})
afterAll(async () => {
  await partner.close()
  await ferry.close()
  await rm(folder, { recursive: true, force: true })
})

const night = async (url: string, stream: { query: string; cursor?: string; fullEvery?: 'never' }) => {
  const runId = await extractNow(ferry, { url }, { properties: stream }, { overlapMs: 600_000 })
  return await ferry.ledger.db
    .selectFrom('run_stream')
    .selectAll()
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
}
const ledger = async () => {
  const rows = await ferry.ledger.db
    .selectFrom('source_row')
    .select(['partner_id', 'content'])
    .orderBy('partner_id')
    .execute()
  return rows.map(({ partner_id, content }) => `${partner_id} ${String(content.name)}`)
}
let files = 0
function openFile() {
  const path = join(folder, `${++files}.db`)
  const file = new DatabaseSync(path)
  file.exec(tables)
  file.exec(
    `insert into hotel values ('H-1', 'one', '2026-11-01 10:00:00', 1), ('H-2', 'one', '2026-11-02 10:00:00', 1)`,
  )
  return { file, night: () => night(pathToFileURL(path).href, { query: hotelsQuery }) }
}

test.each(['n/a', 'CURRENT_TIMESTAMP', '', '2026-13-01 10:00:00'])(
  'a cursor of SQLite whose value is the text %j is one of a row without a cursor, and hides no other row',
  async (odd) => {
    const { file, night } = openFile()
    await night()
    file.exec(`insert into hotel values ('H-3', 'odd', '${odd}', 1)`)
    const cursors = { protection: 'overlap', null_cursor: 1, whole: null }
    expect(await night()).toMatchObject({ ...cursors, read: 2, watermark_after: '2026-11-02 10:00:00' })
    file.exec(`
      update hotel set name = 'two', at = '2026-11-05 10:00:00' where code = 'H-1';
      insert into hotel values ('H-4', 'new', '2026-11-05 11:00:00', 1)`)
    expect(await night()).toMatchObject({ ...cursors, changed: 2, watermark_after: '2026-11-05 11:00:00' })
    file.exec(`update hotel set name = 'late', at = '2026-11-05 10:59:30' where code = 'H-2'`)
    expect(await night()).toMatchObject({ ...cursors, changed: 1 })
    expect(await ledger()).toEqual(['H-1 two', 'H-2 late', 'H-3 odd', 'H-4 new'])
    file.close()
  },
)

test('a time of SQLite that lies ahead does not carry the watermark past clocks that stand further west', async () => {
  const { file, night } = openFile()
  const west = new Date(Date.now() - 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
  file.exec(`insert into hotel values ('H-3', 'west', '${west}', 1), ('H-4', 'ahead', '2099-01-01 00:00:00', 1)`)
  expect(await night()).toMatchObject({ watermark_after: west })
  file.exec(`insert into hotel values ('H-5', 'new', '${west}', 1)`)
  expect(await night()).toMatchObject({ whole: null, changed: 1, watermark_after: west })
  expect(await ledger()).toEqual(['H-1 one', 'H-2 one', 'H-3 west', 'H-4 ahead', 'H-5 new'])
  file.close()
})

test.each(['n/a', ''])(
  'a watermark of SQLite that an earlier version took from the text %j is put right',
  async (odd) => {
    const { file, night } = openFile()
    await night()
    file.exec(`
    insert into hotel values ('H-3', 'odd', '${odd}', 1);
    update hotel set name = 'two', at = '2026-11-05 10:00:00' where code = 'H-1'`)
    await ferry.ledger.pool.query('update stream_watermark set watermark = $1, witness = null', [odd])
    expect(await night()).toMatchObject({ whole: null, read: 3, watermark_after: '2026-11-05 10:00:00' })
    file.exec(`update hotel set at = '${odd}x', name = 'three'`)
    expect(await night()).toMatchObject({ read: 3, changed: 3 })
    expect(await ledger()).toEqual(['H-1 three', 'H-2 three', 'H-3 three'])
    file.close()
  },
)

test.each([
  ['version', 'NaN'],
  ['measure', 'NaN'],
  ['measure', 'Infinity'],
])(
  'a number of PostgreSQL, %s, that is %s is the cursor of a row without one, and hides no other row',
  async (cursor, odd) => {
    const stream = { query: propertiesQuery.replace('number, day', 'number, version, measure, day'), cursor }
    const write = (code: string, name: string, value: string) =>
      partner.pool.query(
        `with gone as (delete from hotel where code = $1) insert into hotel (code, name, version, measure)
       values ($1, $2, nullif($3, 'Infinity')::numeric, $3::text::float8)`,
        [code, name, value],
      )
    await write('H-1', 'one', '1')
    await write('H-2', 'one', '2')
    await write('H-3', 'one', odd)
    expect(await night(partner.url, stream)).toMatchObject({ null_cursor: 1, watermark_after: '2' })
    await write('H-1', 'two', '3')
    expect(await night(partner.url, stream)).toMatchObject({ read: 3, null_cursor: 1, watermark_after: '3' })
    await ferry.ledger.pool.query(`update stream_watermark set watermark = $1, witness = 'H-3'`, [odd])
    await write('H-2', 'two', '2.5')
    const never = { ...stream, fullEvery: 'never' as const }
    expect(await night(partner.url, never)).toMatchObject({ whole: null, read: 3, changed: 1, watermark_after: '3' })
    expect(await ledger()).toEqual(['H-1 two', 'H-2 two', 'H-3 one'])
  },
)
