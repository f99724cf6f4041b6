import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openLedger } from '../db/ledger/ledger.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { readPage, section } from './pages.ts'

const ledger = await ofThisFile(openLedger())

const query = /```sql\n([\s\S]*?)```/.exec(section(readPage('docs/runbook.md'), 'What waits, and for what?'))?.[1] ?? ''

test("the runbook's query of what waits for a hotel's mapping counts no row and no hotel that is gone", async () => {
  const answers = (partner_id: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({ partner_id, row_key: `${partner_id} ${i}`, content: { i } }))
  await ledger.land('properties', [
    { partner_id: 'sold', content: {} },
    { partner_id: 'shrunk', content: {} },
    { partner_id: 'emptied', content: {} },
  ])
  await ledger.land('framework_answers', [...answers('sold', 3), ...answers('shrunk', 2), ...answers('emptied', 1)])
  await sql`update source_row set gone_at = clock_timestamp()
            where partner_id = 'sold' or row_key in ('shrunk 1', 'emptied 0')`.execute(ledger.db)
  const { rows } = await ledger.pool.query<{ partner_id: string; waiting: number }>(query)
  expect(rows.map(({ partner_id, waiting }) => [partner_id, Number(waiting)])).toEqual([
    ['shrunk', 1],
    ['emptied', 0],
  ])
})
