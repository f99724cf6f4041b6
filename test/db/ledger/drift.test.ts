import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
const companyOf = (name: string) => sql`md5(${name})::uuid`

/** Makes partner ids known for companies, in this order. */
async function map(...mappings: [partnerId: string, company: string][]): Promise<void> {
  const { rows } = await sql<{ submission_id: number }>`
    insert into submission (run_id, kind, state, row_count)
    values (${await ledger.startRun()}, 'company_mappings', 'settled', 1) returning submission_id`.execute(ledger.db)
  for (const [partner, company] of mappings) {
    await sql`
      insert into mapping (partner_id, company_id, submission_id)
      values (${partner}, ${companyOf(company)}, ${rows[0]?.submission_id})`.execute(ledger.db)
  }
}
/** Rows of some hotels are gone, and what was accepted was so at some time. */
async function gone(...partners: string[]): Promise<void> {
  await sql`update acceptance set accepted_at = now() where accepted_hash is not null`.execute(ledger.db)
  await sql`update source_row set gone_at = now() where partner_id = any(${partners}::text[])`.execute(ledger.db)
}
const drift = async () =>
  (
    await sql<{ text: string }>`
      select concat_ws(' ', why, stream, partner_id, row_key) as text from drift order by 1`.execute(ledger.db)
  ).rows.map(({ text }) => text)
const row = (partner_id: string, row_key: string, content: Record<string, unknown>) => ({
  partner_id,
  row_key,
  content,
})
const monthly = { period_type: 'month', year: '2025', month: '1' }

beforeEach(async () => {
  await ledger.clear()
  await map(['H-1', 'A'], ['X-1', 'A'], ['H-2', 'B'])
})

it.each<[string, string, Record<string, unknown>, Record<string, unknown>]>([
  [
    'an answer',
    'framework_answers',
    { data_point_id: 'd', ...monthly },
    { data_point_id: 'D', ...monthly, value: '1' },
  ],
  ['an omission', 'omissions', { question_id: 'q', ...monthly }, { question_id: 'q', ...monthly, reason: 'r' }],
  ['a property value', 'custom_property_values', { property_id: 'p', value: '1' }, { property_id: 'P', value: '2' }],
  ['a standard', 'standard_holders', { standard_id: 's' }, { standard_id: 'S' }],
  ['a calculator', 'calculator_inputs', { ...monthly, inputs: { a: '1' } }, { ...monthly, inputs: { a: '2', b: '1' } }],
  ['settings', 'calculator_settings', { automatic_publishing: 'true' }, { automatic_publishing: 'false' }],
])(
  '%s that another row of the company says is no drift, and is where that is gone, too, or of another company',
  async (_, stream, before, now) => {
    await ledger.landChecked(stream, [row('H-1', 'before', before)], true)
    await gone('H-1')
    await ledger.landChecked(stream, [row('H-2', 'elsewhere', now)])
    expect(await drift()).toEqual([`gone ${stream} H-1 before`])
    await ledger.landChecked(stream, [row('X-1', 'now', now)])
    expect(await drift()).toEqual([])
    await gone('X-1')
    expect(await drift(), 'never accepted').toEqual([`gone ${stream} H-1 before`])
  },
)

it('a calculator that lost an input with its id is drift, and so is what says something of another period', async () => {
  const inputs = { a: '1', b: '1' }
  await ledger.landChecked('calculator_inputs', [row('H-1', 'before', { ...monthly, inputs })], true)
  await ledger.landChecked('omissions', [row('H-1', 'before', { question_id: 'q', ...monthly })], true)
  await gone('H-1')
  await ledger.landChecked('calculator_inputs', [row('X-1', 'now', { ...monthly, inputs: { a: '1' } })], true)
  await ledger.landChecked('omissions', [row('X-1', 'now', { question_id: 'q', ...monthly, month: '2' })], true)
  expect(await drift()).toEqual(['gone calculator_inputs H-1 before', 'gone omissions H-1 before'])
})

it('a row of the same hotel that moved to another key is no drift, and a mapping that is gone always is', async () => {
  await ledger.landChecked('properties', [row('H-1', 'H-1', { name: 'one' })], true)
  await ledger.landChecked('framework_answers', [row('H-1', 'f d', { data_point_id: 'd', ...monthly })], true)
  await gone('H-1')
  await ledger.landChecked('properties', [row('X-1', 'X-1', { name: 'one' })], true)
  await ledger.landChecked('framework_answers', [row('H-1', 'd', { data_point_id: 'd', ...monthly })], true)
  expect(await drift()).toEqual(['gone properties H-1 H-1'])
})

it('what two hotels that changed places left behind is no drift where the other writes it', async () => {
  await ledger.landChecked('standard_holders', [row('H-1', 'H-1 s', { standard_id: 's' })], true)
  await ledger.landChecked('standard_holders', [row('H-1', 'H-1 t', { standard_id: 't' })], true)
  await sql`
    insert into left_behind (company_id, row_id, content, accepted_at)
    select ${companyOf('B')}, row_id, content, now() from source_row`.execute(ledger.db)
  expect(await drift()).toEqual(['remapped standard_holders H-1 H-1 s', 'remapped standard_holders H-1 H-1 t'])
  await ledger.landChecked('standard_holders', [row('H-2', 'H-2 s', { standard_id: 's' })])
  expect(await drift()).toEqual(['remapped standard_holders H-1 H-1 t'])
})
