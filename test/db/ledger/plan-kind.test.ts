import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { considerEnded } from '../../../src/db/ledger/candidates.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { type Landing, openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
let run: number
beforeEach(async () => {
  await ledger.clear()
  run = await ledger.startRun()
})

const answers = (partner_id: string, count: number, framework_id = 'f1'): Landing[] =>
  Array.from({ length: count }, (_, index) => ({
    partner_id,
    row_key: `${partner_id} ${framework_id} ${index}`,
    content: { framework_id, value: String(index) },
  }))
const set = (column: string, value: unknown) =>
  sql`update acceptance set ${sql.ref(column)} = ${value}`.execute(ledger.db)
const planned = async (ids: number[]) => await Promise.all(ids.map((id) => ledger.keysOf(id)))

describe('a row is planned', () => {
  beforeEach(() => ledger.landChecked('framework_answers', answers('H-1', 1)))

  it('a row is planned and in flight when it is pending, checked, valid and free', async () => {
    const [id, ...more] = await ledger.plan(run)
    expect(more).toEqual([])
    expect(await ledger.row('framework_answers', 'H-1 f1 0')).toMatchObject({ held_by: id })
    expect(await ledger.db.selectFrom('submission').selectAll().execute()).toMatchObject([
      { submission_id: id, run_id: run, kind: 'framework_answers', partition: 'f1', state: 'planned', row_count: 1 },
    ])
  })

  it('a row is planned once, however often the planner looks', async () => {
    expect(await ledger.plan(run)).toHaveLength(1)
    expect(await ledger.plan(run)).toEqual([])
  })

  it.each([
    [
      'accepted as it is',
      async () => void (await sql`update acceptance set accepted_hash = wanted_hash`.execute(ledger.db)),
    ],
    ['not checked as it is', async () => void (await set('checked_hash', Buffer.from('older')))],
    ['not checked at all', async () => void (await set('checked_hash', null))],
    ['invalid', async () => void (await set('invalid_reason', 'no year'))],
    [
      'refused as it is',
      async () => void (await sql`update acceptance set refused_hash = wanted_hash`.execute(ledger.db)),
    ],
  ])('a row is not planned while it is %s', async (_, arrange) => {
    await arrange()
    expect(await ledger.plan(run)).toEqual([])
  })

  it('a row is planned again when it changed after it was rejected', async () => {
    await sql`update acceptance set refused_hash = 'older'`.execute(ledger.db)
    expect(await ledger.plan(run)).toHaveLength(1)
  })

  it.each(['unknown', 'rejected'])(
    'a row that did not change is not planned twice in one run after the outcome %s, but in the next',
    async (outcome) => {
      const [id = 0] = await ledger.plan(run)
      await ledger.settleAll(id, outcome, 'settled', false)
      expect(await ledger.plan(run)).toEqual([])
      expect(await ledger.plan(await ledger.startRun())).toHaveLength(1)
    },
  )

  it('a row is planned again in the same run when it changed since it was sent', async () => {
    const [id = 0] = await ledger.plan(run)
    await ledger.markSent(id)
    await ledger.landChecked('framework_answers', [
      { partner_id: 'H-1', row_key: 'H-1 f1 0', content: { framework_id: 'f1', value: 'new' } },
    ])
    expect(await ledger.plan(run)).toEqual([])
    await ledger.settleAll(id, 'inferred')
    expect(await ledger.plan(run)).toHaveLength(1)
  })
})

describe('a row that requires another stream', () => {
  const requires = { framework_answers: ['properties'] }
  const property = { partner_id: 'H-1', content: { name: 'A' } }
  beforeEach(() => ledger.landChecked('framework_answers', answers('H-1', 1)))

  it('a row that requires another stream is kept back while its property is unknown, pending, or changed since it was accepted', async () => {
    expect(await ledger.plan(run, { requires })).toEqual([])
    await ledger.landChecked('properties', [property])
    expect(await ledger.plan(run, { requires })).toEqual([])
    await ledger.landChecked('properties', [property], true)
    await ledger.landChecked('properties', [{ ...property, content: { name: 'B' } }])
    expect(await ledger.plan(run, { requires })).toEqual([])
  })

  it("a row that requires another stream is not let out by another property's acceptance", async () => {
    await ledger.landChecked('properties', [{ ...property, partner_id: 'H-2' }], true)
    expect(await ledger.plan(run, { requires })).toEqual([])
  })

  it('a row that requires another stream is let out once its property is accepted', async () => {
    await ledger.landChecked('properties', [property], true)
    expect(await ledger.plan(run, { requires })).toHaveLength(1)
  })

  it('waits for every stream that it requires', async () => {
    await ledger.landChecked('properties', [property], true)
    const both = { framework_answers: ['properties', 'custom_property_values'] }
    expect(await ledger.plan(run, { requires: both })).toEqual([])
    await ledger.landChecked('custom_property_values', [{ ...property, row_key: 'v' }], true)
    expect(await ledger.plan(run, { requires: both })).toHaveLength(1)
  })

  it('keeps nobody else of its kind waiting', async () => {
    await ledger.landChecked('omissions', [{ partner_id: 'H-2', content: {} }])
    expect(await planned(await ledger.plan(run, { requires }))).toEqual([['H-2']])
  })
})

describe('submissions', () => {
  it('submissions are kept apart by framework, and a property is in one of them at a time', async () => {
    await ledger.landChecked('framework_answers', [
      ...answers('H-1', 1, 'f1'),
      ...answers('H-1', 1, 'f2'),
      ...answers('H-2', 1, 'f2'),
    ])
    await ledger.landChecked('omissions', [{ partner_id: 'H-2', row_key: 'H-2 omission', content: {} }])
    const first = await ledger.plan(run)
    expect(await planned(first)).toEqual([['H-2 omission'], ['H-1 f1 0']])
    expect(await ledger.plan(run)).toEqual([])
    for (const id of first) await ledger.settleAll(id, 'inferred')
    expect(await planned(await ledger.plan(run))).toEqual([['H-1 f2 0', 'H-2 f2 0']])
  })

  it('never carry rows of a property that is in flight with another one of the kind', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 1))
    await ledger.plan(run)
    await ledger.landChecked('framework_answers', answers('H-1', 3))
    await ledger.landChecked('omissions', [{ partner_id: 'H-1', content: {} }])
    expect(await ledger.plan(run)).toEqual([])
  })

  it('submissions of some streams of a kind carry nothing of a property of which another stream is in flight', async () => {
    await ledger.landChecked('omissions', [{ partner_id: 'H-1', content: {} }])
    const [omission = 0] = await ledger.plan(run)
    await ledger.markSent(omission)
    await ledger.landChecked('framework_answers', answers('H-1', 1))
    expect(await ledger.plan(run, { streams: ['framework_answers'] })).toEqual([])
    // What was passed over is found when what is in flight has ended, without another look over all rows.
    await ledger.settleAll(omission, 'inferred')
    await ledger.inTransaction((trx) =>
      considerEnded(trx, run, [{ kind: 'framework_answers', streams: ['framework_answers'] }], {}),
    )
    const next = await ledger.plan(run, { streams: ['framework_answers'], sweep: false })
    expect(await planned(next)).toEqual([['H-1 f1 0']])
  })

  it('two submissions of different kinds may carry rows of the same property', async () => {
    await ledger.landChecked('framework_answers', answers('H-1', 1))
    await ledger.plan(run)
    await ledger.landChecked('calculator_inputs', [{ partner_id: 'H-1', content: { inputs: {} } }])
    const calculators = { kind: 'calculators', streams: ['calculator_inputs'], partitionBy: null }
    expect(await ledger.plan(run, calculators)).toHaveLength(1)
  })

  it.each([
    [1, [1, 1, 1]],
    [2, [1, 2, 3, 1]],
    [10, [5, 5, 5, 5]],
    [10, [1, 9, 30, 4, 4, 4, 1]],
    [7, [3, 3, 3, 3, 3, 3]],
    [50, Array.from({ length: 60 }, (_, index) => (index * 7) % 31)],
  ])('carry %i rows at most, and carry all rows in the end: %j', async (maxRows, sizes) => {
    const rows = sizes.flatMap((size, index) => answers(`H-${String(index).padStart(3, '0')}`, size))
    await ledger.landChecked('framework_answers', rows)
    const carried: string[] = []
    for (let wave = 0; carried.length < rows.length; wave++) {
      const ids = await ledger.plan(run, { maxRows })
      const keys = await planned(ids)
      expect(ids.length, `wave ${wave}`).toBeGreaterThan(0)
      expect(Math.max(...keys.map(({ length }) => length))).toBeLessThanOrEqual(maxRows)
      const properties = keys.map((list) => new Set(list.map((key) => key.split(' ')[0])))
      for (const [index, set] of some(properties.entries())) {
        for (const other of properties.slice(index + 1)) expect([...set].filter((one) => other.has(one))).toEqual([])
      }
      const { rows: counted } = await sql<{ row_count: number }>`
        select row_count from submission where submission_id = any(${ids}::bigint[]) order by submission_id`.execute(
        ledger.db,
      )
      expect(counted.map(({ row_count }) => row_count)).toEqual(keys.map(({ length }) => length))
      carried.push(...keys.flat())
      for (const id of ids) await ledger.settleAll(id, 'inferred')
    }
    expect(carried).toHaveLength(rows.length)
    expect(new Set(carried)).toEqual(new Set(rows.map(({ row_key }) => row_key)))
    expect(await ledger.plan(run, { maxRows })).toEqual([])
  })

  it('submissions are well filled', async () => {
    const rows = Array.from({ length: 100 }, (_, index) => answers(`H-${index}`, 1)).flat()
    await ledger.landChecked('framework_answers', rows)
    expect((await planned(await ledger.plan(run, { maxRows: 10 }))).map(({ length }) => length)).toEqual(
      Array.from({ length: 10 }, () => 10),
    )
  })

  it.each(["'; drop table source_row; --", '"', '\\', '\n', '🏨'])(
    'take the framework id %j for what it is',
    async (framework) => {
      await ledger.landChecked('framework_answers', answers('H-1', 1, framework))
      await ledger.plan(run)
      const { partition } = await ledger.db.selectFrom('submission').select('partition').executeTakeFirstOrThrow()
      expect(partition).toBe(framework)
    },
  )
})
