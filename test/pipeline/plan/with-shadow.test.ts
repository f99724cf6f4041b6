import { beforeEach, expect, it } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { withShadow } from '../../../src/pipeline/plan/with-shadow.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { extractNow, openPartner, type Streams } from '../delta/partner.ts'
import { openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(() => ferry.clear())

/** A stream with one hotel, of whose year these inputs are known. */
function inputs(values: Record<string, string>): Streams {
  const rows = Object.entries(values).map(
    ([field, value]) => `('H-1', 2025, 1, '${field}', '${value}', timestamptz '2026-01-01')`,
  )
  const query = `select * from (values ${rows.join(', ')}) r(partner_id, year, month, field_type_id, value, at)`
  return { calculator_inputs: { query, capture: 'snapshot' } }
}
const one = inputs({ [ids.field]: '1' })
const two = inputs({ [ids.field]: '1', [ids.otherField]: '5' })

const rowsOf = (db: Database) => db.selectFrom('ledger').select(['content', 'pending']).execute()
const accepted = `update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp(), outcome = 'confirmed'`
const rejected = `update acceptance set outcome = 'rejected', refused_hash = wanted_hash`
/** A request with the row that ended while nobody could say what became of it. */
const unknown = `
  with sent as (
    insert into submission (run_id, kind, state, row_count, settled_at, rest_outcome)
    select max(run_id), 'calculators', 'settled', 1, clock_timestamp(), 'unknown' from run
    returning submission_id
  )
  insert into submission_row (submission_id, row_id, sent_hash)
  select submission_id, row_id, wanted_hash from sent, acceptance`

it.each([
  ['the service rejected an input that the partner then took back', [rejected], false],
  ['nobody knows what became of an input that the partner then took back', [unknown, rejected], true],
])('a plan reads what a run reads, where %s', async (_, settled, blank) => {
  await extractNow(ferry, partner, one)
  await ferry.ledger.pool.query(accepted)
  await extractNow(ferry, partner, two)
  for (const statement of settled) await ferry.ledger.pool.query(statement)

  const run = await ferry.ledger.startRun()
  await using plain = ferry.deps('http://127.0.0.1:9')
  const planned = await withShadow(plain.pool, async (shadow) => {
    await extractNow({ ...ferry, deps: (url) => ({ ...ferry.deps(url), ...shadow }) }, partner, one, {}, run)
    return await rowsOf(shadow.db)
  })
  await extractNow(ferry, partner, one, {}, run)
  expect(planned).toEqual(await rowsOf(ferry.ledger.db))
  expect(planned).toMatchObject([{ pending: blank }])
})
