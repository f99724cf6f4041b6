import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const one = (content: Record<string, unknown>, partner_id = 'H-1') => ({ partner_id, content })

describe('landing rows', () => {
  it('stores new rows as pending', async () => {
    expect(await ledger.land('properties', [one({ name: 'A' }), one({ name: 'B' }, 'H-2')])).toEqual({
      folded: 0,
      unchanged: 0,
      changed: 2,
      gone: 0,
      returned: 0,
    })
    expect(await ledger.row('properties', 'H-2')).toMatchObject({
      partner_id: 'H-2',
      content: { name: 'B' },
      accepted_hash: null,
      held_by: null,
    })
  })

  it('counts rows as unchanged, and does not touch them, when only the order of their members differs', async () => {
    await ledger.land('properties', [one({ name: 'A', street: 'B' })])
    const version = () =>
      sql`
      select row.xmin::text, row.ctid::text, changed_at, took.xmin::text as took_xmin, took.ctid::text as took_ctid
      from source_row row join acceptance took using (row_id)`.execute(ledger.db)
    const before = await version()
    expect(await ledger.land('properties', [one({ street: 'B', name: 'A' })])).toEqual({
      folded: 0,
      unchanged: 1,
      changed: 0,
      gone: 0,
      returned: 0,
    })
    expect((await version()).rows).toEqual(before.rows)
  })

  it('makes a changed row pending again and keeps what was accepted', async () => {
    await ledger.landChecked('properties', [one({ name: 'A' })], true)
    const before = await ledger.row('properties', 'H-1')
    expect(await ledger.land('properties', [one({ name: 'B' })])).toMatchObject({ unchanged: 0, changed: 1 })
    const after = await ledger.row('properties', 'H-1')
    expect(after.accepted_hash).toEqual(before.desired_hash)
    expect(after.desired_hash).not.toEqual(before.desired_hash)
    expect(after.row_id).toBe(before.row_id)
  })

  it('keeps rows of different streams apart when their keys are equal', async () => {
    await ledger.land('properties', [one({ name: 'A' })])
    await ledger.land('calculator_settings', [one({ automatic_publishing: 'true' })])
    expect((await ledger.row('properties', 'H-1')).content).toEqual({ name: 'A' })
  })

  it('takes the later of two rows with one key and counts the other as folded', async () => {
    const landed = await ledger.land('properties', [
      one({ name: 'old' }),
      one({ name: 'B' }, 'H-2'),
      one({ name: 'new' }),
    ])
    expect(landed).toEqual({ folded: 1, unchanged: 0, changed: 2, gone: 0, returned: 0 })
    expect((await ledger.row('properties', 'H-1')).content).toEqual({ name: 'new' })
  })

  it('lands nothing at all from nothing', async () => {
    expect(await ledger.land('properties', [])).toEqual({ folded: 0, unchanged: 0, changed: 0, gone: 0, returned: 0 })
    expect(await ledger.land('calculator_inputs', [], 'inputs')).toEqual({
      folded: 0,
      unchanged: 0,
      changed: 0,
      gone: 0,
      returned: 0,
    })
  })

  it.each([
    'a "quoted", comma',
    'line\nbreak\r\nand\ttab',
    '\\.\n\\.',
    'back\\slash \\N \\u0041',
    'ホテル 🏨 „Zur Brücke“ e\u0301',
    '\u202e\u200b\u0001\u007f',
    '',
    ' ',
    'null',
    '{"a":1}',
  ])('keeps %j byte for byte, as id and as value', async (text) => {
    await ledger.land('properties', [{ partner_id: text, content: { name: text } }])
    const stored = await ledger.row('properties', text)
    expect(stored.partner_id).toBe(text)
    expect(stored.content).toEqual({ name: text })
  })

  it('hashes the content as jsonb prints it', async () => {
    await ledger.land('properties', [one({ name: 'Brücke', a: '1' })])
    const { rows } = await sql<{ text: string }>`select content::text as text from source_row`.execute(ledger.db)
    const expected = createHash('sha256')
      .update(rows[0]?.text ?? '')
      .digest()
      .subarray(0, 16)
    expect((await ledger.row('properties', 'H-1')).desired_hash).toEqual(expected)
  })
})

describe('landing inputs that share a row', () => {
  const inputs = (values: Record<string, string | null>) => one({ year: '2025', month: '3', inputs: values })
  const land = (...values: Record<string, string | null>[]) =>
    ledger.land('calculator_inputs', values.map(inputs), 'inputs')
  const held = async () => (await ledger.row('calculator_inputs', 'H-1')).content

  it('merges them into one row', async () => {
    expect(await land({ a: '1' }, { b: '2' })).toEqual({ folded: 1, unchanged: 0, changed: 1, gone: 0, returned: 0 })
    expect(await held()).toEqual({ year: '2025', month: '3', inputs: { a: '1', b: '2' } })
  })

  it('keeps the inputs that the delta does not bring', async () => {
    await land({ a: '1' }, { b: '2' })
    expect(await land({ b: '3' })).toEqual({ folded: 0, unchanged: 0, changed: 1, gone: 0, returned: 0 })
    expect(await held()).toMatchObject({ inputs: { a: '1', b: '3' } })
    expect(await land({ b: '3' })).toEqual({ folded: 0, unchanged: 1, changed: 0, gone: 0, returned: 0 })
  })

  it('takes the later of two values of one input', async () => {
    await land({ a: '1' }, { a: '2' })
    expect(await held()).toMatchObject({ inputs: { a: '2' } })
  })

  it('keeps an input that became null as null, to be cleared, and adds none for a null that was never there', async () => {
    await land({ a: '1' }, { b: '2' }, { c: null })
    expect(await held()).toMatchObject({ inputs: { a: '1', b: '2' } })
    await sql`update acceptance set accepted_hash = wanted_hash`.execute(ledger.db)
    expect(await land({ a: null })).toMatchObject({ changed: 1 })
    expect((await held()).inputs).toEqual({ a: null, b: '2' })
    expect(await land({ a: null })).toMatchObject({ changed: 0 })
    await land({ a: '3' })
    expect((await held()).inputs).toEqual({ a: '3', b: '2' })
  })

  it('does not mix the rows of two properties or periods', async () => {
    await ledger.land(
      'calculator_inputs',
      [
        { partner_id: 'H-1', row_key: 'H-1 2025', content: { inputs: { a: '1' } } },
        { partner_id: 'H-1', row_key: 'H-1 2026', content: { inputs: { a: '2' } } },
        { partner_id: 'H-2', row_key: 'H-2 2025', content: { inputs: { b: '3' } } },
      ],
      'inputs',
    )
    expect((await ledger.row('calculator_inputs', 'H-1 2025')).content).toEqual({ inputs: { a: '1' } })
    expect((await ledger.row('calculator_inputs', 'H-2 2025')).content).toEqual({ inputs: { b: '3' } })
  })
})
