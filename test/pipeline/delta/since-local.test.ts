import { beforeEach, expect, test } from 'vitest'
import { rereadStream } from '../../../src/pipeline/actions/act-on-rows.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from '../push/ferry.ts'
import { extractNow, openPartner } from './partner.ts'

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await ferry.clear()
  // Hotels that were changed so many hours ago, by a clock in New York.
  await partner.pool.query(`
    truncate hotel;
    insert into hotel (code, name, local)
    select 'H-' || hours, 'one', now() at time zone 'America/New_York' - make_interval(hours => hours)
    from generate_series(0, 40) hours`)
  await extractNow(ferry, partner, streams)
})

const streams = { properties: { cursor: 'local' } }

/** Changes what nobody sees by its cursor, and runs. @returns which of the hotels were read again. */
async function readAgain(asked: { since?: string }): Promise<string[]> {
  await partner.pool.query(`update hotel set name = 'other'`)
  const { db } = ferry.ledger
  const runId = await ferry.ledger.startRun()
  await db
    .updateTable('run')
    .set({ asked: JSON.stringify(asked) as never })
    .where('run_id', '=', runId)
    .execute()
  await extractNow(ferry, partner, streams, {}, runId)
  const { rows } = await ferry.ledger.pool.query<{ partner_id: string }>(
    `select partner_id from source_row where content ->> 'name' = 'other' order by row_id`,
  )
  return rows.map(({ partner_id }) => partner_id)
}

const lastSixHours = ['H-0', 'H-1', 'H-2', 'H-3', 'H-4', 'H-5', 'H-6']

test('a run that reads again from six hours ago misses no row of clocks that stand behind UTC', async () => {
  const read = await readAgain({ since: '6h' })
  expect(read).toEqual(expect.arrayContaining(lastSixHours))
  expect(read).not.toContain('H-40')
})

test('a stream that is to be read again from two hours ago is not refused where clocks stand behind UTC', async () => {
  const since = new Date(Date.now() - 2 * 3_600_000).toISOString()
  for (const asked of ['2h', since]) {
    const at = { stream: 'properties', since: asked, now: new Date(), actor: { user: 'ada', host: 'here' } }
    expect(await rereadStream(ferry.ledger.db, at)).toMatchObject({ watermark_after: expect.any(String) })
    expect(await readAgain({})).toEqual(expect.arrayContaining(['H-0', 'H-1', 'H-2']))
  }
})

test('a stream whose cursor is a whole number is read again from a fraction on, and not refused by the server', async () => {
  const byNumber = { properties: { cursor: 'number' } }
  await partner.pool.query(`update hotel set number = 100 - substring(code from 3)::integer`)
  await extractNow(ferry, partner, byNumber)
  const at = { stream: 'properties', since: '90.5', now: new Date(), actor: { user: 'ada', host: 'here' } }
  expect(await rereadStream(ferry.ledger.db, at)).toMatchObject({ watermark_after: '90' })
  const run = await extractNow(ferry, partner, byNumber)
  const read = await ferry.ledger.db
    .selectFrom('run_stream')
    .select(['read', 'whole'])
    .where('run_id', '=', run)
    .execute()
  expect(read).toEqual([{ read: 11, whole: null }])
  const beyond = await rereadStream(ferry.ledger.db, { ...at, since: '-9223372036854775809' })
  expect(beyond).toEqual({ kind: 'other type', watermark: '100' })
})
