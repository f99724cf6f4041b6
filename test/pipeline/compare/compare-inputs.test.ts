import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { comparisonOf } from '../../../src/db/differences/difference-records.ts'
import { countRepairable } from '../../../src/db/ledger/found-otherwise.ts'
import type { InputComparison } from '../../../src/db/tables/difference-tables.ts'
import { compareInputs, reasonNotToCompare } from '../../../src/pipeline/compare/compare-inputs.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { loadPage } from '../../../src/pipeline/pull/load-page.ts'
import { completeSearch } from '../../../src/pipeline/pull/search/whole-search.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { defaultPageLimits } from '../pull/limits.ts'
import {
  bodyOf,
  calculator,
  company,
  contract,
  type SampleCalculator,
  type SampleCompany,
  samplePage,
  uuid,
} from '../pull/sample-page.ts'
import { replayed } from '../pull/search-database.ts'
import { openFerry } from '../push/ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  await emptyTables(
    ferry.ledger.db,
    ['company', 'calculator', 'calculator_variable', 'calculator_value', 'unrenewed_part', 'input_difference'],
    true,
  )
})

const [power, gas, water] = [uuid('power'), uuid('gas'), uuid('water')]

/** With a configuration that reads calculator inputs. */
function reading<Given extends Deps>(deps: Given): Given {
  const streams = { ...deps.config.streams, calculator_inputs: deps.config.streams.properties }
  return { ...deps, config: { ...deps.config, streams } }
}

type Inputs = Record<string, string | null>

/** An accepted row: inputs of a period, `2025` or `2025-3`. */
async function accepted(partnerId: string, period: string, inputs: Inputs): Promise<string> {
  const [year = '', month] = period.split('-')
  const rowKey = `${partnerId} ${period}`
  const content = { year, ...(month !== undefined && { month }), inputs }
  await ferry.ledger.landChecked('calculator_inputs', [{ partner_id: partnerId, row_key: rowKey, content }], true)
  await sql`
    update acceptance set accepted_at = clock_timestamp()
    where row_id in (select row_id from source_row where row_key = ${rowKey})`.execute(ferry.ledger.db)
  return rowKey
}

/** A row that was accepted, and is to be sent again. */
async function pending(rowKey: string): Promise<void> {
  await sql`
    with wanted as (
      update source_row set desired_hash = '\\x00' where row_key = ${rowKey} returning row_id, desired_hash
    )
    update acceptance set wanted_hash = desired_hash from wanted where acceptance.row_id = wanted.row_id`.execute(
    ferry.ledger.db,
  )
}

/** The property is this company. */
async function mapped(partnerId: string, name: string): Promise<void> {
  const { db } = ferry.ledger
  const run = await ferry.ledger.startRun()
  const { submission_id } = await db
    .insertInto('submission')
    .values({ run_id: run, kind: 'company_mappings', state: 'settled', row_count: 1 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  await sql`
    insert into mapping (partner_id, company_id, submission_id) values (${partnerId}, ${uuid(name)}, ${submission_id})
    on conflict (partner_id) do update set company_id = excluded.company_id, mapped_at = clock_timestamp()`.execute(db)
}

const month = (name: string, inputs: Record<string, string>, over: Partial<SampleCalculator> = {}) =>
  calculator(name, { inputs, ...over })
const year = (name: string, inputs: Record<string, string>) => month(name, inputs, { period: { year: 2025 } })

/** `configured`: what the process that ends the search and compares has in its configuration. */
type Search = { taskStatus?: string; calculatorTypeIds?: string[]; configured?: string[] }

/** A run whose search returned these companies, as far as the comparison. */
async function compared(
  companies: SampleCompany[],
  { taskStatus = 'Success', calculatorTypeIds = [], configured = calculatorTypeIds }: Search = {},
): Promise<InputComparison | null> {
  const { db, pool } = ferry.ledger
  await ferry.ledger.startRun()
  const run = await db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
  const { submission_id } = await db
    .insertInto('submission')
    .values({
      run_id: run.run_id,
      kind: 'calculators_search',
      state: 'settled',
      row_count: 0,
      task_status: taskStatus,
      asked: JSON.stringify({ customPropertyIds: [], calculatorTypeIds }),
    })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const page = await db
    .insertInto('search_page')
    .values({ submission_id, ordinal: 0, url: 'https://pages.example/0', state: 'listed' })
    .returning(['page_id', 'submission_id'])
    .executeTakeFirstOrThrow()
  const body = replayed(bodyOf(samplePage(companies)))
  await loadPage(pool, page, body, { contract, limits: defaultPageLimits, calculatorTypeIds })
  await using deps = reading(ferry.deps('http://127.0.0.1:9'))
  const pull = { ...deps.config.pull, calculatorTypeIds: configured }
  const selective = { ...deps, config: { ...deps.config, pull } }
  await completeSearch(selective, run)
  await compareInputs(selective, run)
  return await comparisonOf(db, run.run_id)
}

async function found(): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', kind, partner_id, period_year, period_month, case variable_id when ${power} then 'power'
             when ${gas} then 'gas' when ${water} then 'water' end, coalesce(sent, '-'), coalesce(stored, '-'), cause) as line
    from input_differences order by 1`.execute(ferry.ledger.db)
  return rows.map(({ line }) => line)
}

describe('an input of one property', () => {
  beforeEach(() => mapped('H-1', 'A'))

  it.each<[string, Inputs, Record<string, string>, Partial<InputComparison>, string[]]>([
    ['the same text', { [power]: '1.50' }, { [power]: '1.50' }, { equal: 1 }, []],
    ['no number, the same text', { [power]: 'a lot' }, { [power]: 'a lot' }, { equal: 1 }, []],
    ['the number with fewer digits', { [power]: '1.50' }, { [power]: '1.5' }, { written_differently: 1 }, []],
    ['the number with an exponent', { [power]: '1e3' }, { [power]: '1000' }, { written_differently: 1 }, []],
    ['the number after a blank', { [power]: ' 7 ' }, { [power]: '7.0' }, { written_differently: 1 }, []],
    [
      'a number that only a double takes for equal',
      { [power]: '9007199254740993' },
      { [power]: '9007199254740992' },
      { different: 1 },
      ['different H-1 2025 3 power 9007199254740993 9007199254740992'],
    ],
    ['another number', { [power]: '1' }, { [power]: '2' }, { different: 1 }, ['different H-1 2025 3 power 1 2']],
    ['no number', { [power]: '1' }, { [power]: 'x' }, { different: 1 }, ['different H-1 2025 3 power 1 x']],
    ['nothing where it was cleared', { [power]: null, [gas]: '1' }, { [gas]: '1' }, { equal: 2 }, []],
    ['nothing where it was blank', { [power]: ' \t', [gas]: '1' }, { [gas]: '1' }, { equal: 2 }, []],
    [
      'a value where it was cleared',
      { [power]: null },
      { [power]: '3' },
      { different: 1 },
      ['different H-1 2025 3 power - 3'],
    ],
    [
      'nothing of it beside another',
      { [power]: '1', [gas]: '2' },
      { [gas]: '2' },
      { equal: 1, absent: 1 },
      ['absent H-1 2025 3 power 1 - value_not_returned'],
    ],
    [
      'what it was in the other spelling of its id',
      { [power.toUpperCase()]: null, [power]: '1' },
      { [power]: '1' },
      { inputs: 1, equal: 1 },
      [],
    ],
    ['its id in capitals', { [power.toUpperCase()]: '1' }, { [power]: '1' }, { equal: 1, foreign_values: 0 }, []],
  ])('the comparison finds an input for which the service shows %s', async (_what, sent, shown, counts, lines) => {
    await accepted('H-1', '2025-3', sent)
    expect(await compared([company('A', { calculators: [month('A/1', shown)] })])).toMatchObject({
      ...{ withheld: null, absent: 0, different: 0, written_differently: 0, unjudged: 0 },
      ...{ inputs: Object.keys(sent).length, new: (counts.absent ?? 0) + (counts.different ?? 0) },
      ...counts,
    })
    expect(await found()).toEqual(lines)
  })

  it('an input of one property is sought in its own month and year only', async () => {
    await accepted('H-1', '2025', { [power]: '12' })
    await accepted('H-1', '2025-3', { [power]: '1' })
    await accepted('H-1', '2024-3', { [power]: '5' })
    await compared([company('A', { calculators: [month('A/1', { [power]: '12' }), year('A/2', { [power]: '12' })] })])
    expect(await found()).toEqual([
      'absent H-1 2024 3 power 5 - period_not_returned',
      'different H-1 2025 3 power 1 12',
    ])
  })

  it('stands if one calculator of several holds it, and differs if all that hold it do', async () => {
    await accepted('H-1', '2025-3', { [power]: '1', [gas]: '2' })
    const calculators = [
      month('A/1', { [power]: '9', [gas]: '8' }),
      month('A/2', { [power]: '1', [gas]: '7' }, { typeId: uuid('water type') }),
      month('A/3', {}, { typeId: uuid('waste type') }),
    ]
    expect(await compared([company('A', { calculators })])).toMatchObject({ equal: 1, different: 1 })
    expect(await found()).toEqual(['different H-1 2025 3 gas 2 7 / 8'])
  })

  it('an input of one property is absent where the search does not return its company, and where the company is gone from it', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await compared([company('B')])
    expect(await found()).toEqual(['absent H-1 2025 3 power 1 - company_not_returned'])
    await compared([company('A', { calculators: [month('A/1', { [power]: '1' })] }), company('B')])
    expect(await found()).toEqual([])
    await compared([company('B')])
    expect(await found()).toEqual(['absent H-1 2025 3 power 1 - company_not_returned'])
  })

  describe('where two spellings of its field have rows, from pages before', () => {
    beforeEach(async () => {
      await sql`insert into calculator_variable (variable_id) values (${power}), (${power.toUpperCase()})`.execute(
        ferry.ledger.db,
      )
    })

    it.each([
      ['small letters', power, power],
      ['capitals', power.toUpperCase(), power],
      ['capitals, as sent', power.toUpperCase(), power.toUpperCase()],
    ])('stands in %s', async (_, shown, sent) => {
      await accepted('H-1', '2025-3', { [sent]: '1' })
      const comparison = await compared([company('A', { calculators: [month('k', { [shown]: '1' })] })])
      expect(comparison).toMatchObject({ equal: 1, absent: 0, foreign_values: 0 })
    })

    it('differs in capitals, and is of nobody else', async () => {
      await accepted('H-1', '2025-3', { [power]: '1' })
      await compared([company('A', { calculators: [month('k', { [power.toUpperCase()]: '2' })] })])
      expect(await found()).toEqual(['different H-1 2025 3 power 1 2'])
    })
  })

  it('an input of one property is absent where its calculator was removed', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    const kept = month('A/2', { [water]: '1' }, { period: { year: 2024 } })
    await compared([company('A', { calculators: [month('A/1', { [power]: '1' }), kept] })])
    await compared([company('A', { calculators: [kept] })])
    expect(await found()).toEqual(['absent H-1 2025 3 power 1 - period_not_returned'])
  })

  it('an input of one property is absent from the company that the property was mapped to later', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await mapped('H-1', 'B')
    const still = company('A', { calculators: [month('A/1', { [power]: '1' })] })
    expect(await compared([still, company('B', { calculators: [] })])).toMatchObject({ absent: 1, foreign_values: 0 })
    expect(await found()).toEqual(['absent H-1 2025 3 power 1 - mapped_since'])
  })

  it.each([
    ['pending', sql`acceptance set wanted_hash = '\\x00'`],
    ['never accepted', sql`acceptance set accepted_hash = null, accepted_at = null`],
    ['gone at the partner', sql`source_row set gone_at = clock_timestamp()`],
    ['accepted after the search was planned', sql`acceptance set accepted_at = clock_timestamp() + interval '1 hour'`],
  ])(
    'an input of one property is not compared while its row is %s, and is not taken for foreign',
    async (_state, change) => {
      const rowKey = await accepted('H-1', '2025-3', { [power]: '1' })
      await sql`
      update ${change} where row_id in (select row_id from source_row where row_key = ${rowKey})`.execute(
        ferry.ledger.db,
      )
      await sql`
      update source_row set desired_hash = wanted_hash
      from acceptance where acceptance.row_id = source_row.row_id and desired_hash <> wanted_hash`.execute(
        ferry.ledger.db,
      )
      expect(await compared([company('A', { calculators: [month('A/1', { [power]: '2' })] })])).toMatchObject({
        ...{ inputs: 0, unsettled: 1, foreign_values: 0, other_fields: 0 },
      })
      expect(await found()).toEqual([])
    },
  )

  it('an input of one property is compared though its row was accepted while the clock was ahead', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await sql`
      update acceptance set accepted_at = clock_timestamp() + interval '1 day',
        outcome_submission = (select max(submission_id) from submission)`.execute(ferry.ledger.db)
    const other = month('A/2', {}, { period: { year: 2024 } })
    expect(await compared([company('A', { calculators: [other] })])).toMatchObject({ absent: 1, unsettled: 0 })
    expect(await found()).toEqual(['absent H-1 2025 3 power 1 - period_not_returned'])
  })

  it('an input of one property names no later mapping as the cause where only the clock was ahead', async () => {
    await sql`update mapping set mapped_at = clock_timestamp() + interval '1 day'`.execute(ferry.ledger.db)
    await accepted('H-1', '2025-3', { [power]: '1' })
    await sql`update acceptance set outcome_submission = (select max(submission_id) + 1 from submission)`.execute(
      ferry.ledger.db,
    )
    await ferry.ledger.db
      .insertInto('submission')
      .values({ run_id: await ferry.ledger.startRun(), kind: 'calculators', state: 'settled', row_count: 1 })
      .execute()
    await compared([company('B')])
    expect(await found()).toEqual(['absent H-1 2025 3 power 1 - company_not_returned'])
  })

  it('keeps the run that first found it, and says when it is another kind of difference', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    const kept = month('A/2', { [water]: '1' }, { period: { year: 2024 } })
    const shown = (value: string) => [company('A', { calculators: [month('A/1', { [power]: value }), kept] })]
    expect(await compared(shown('2'))).toMatchObject({ different: 1, new: 1 })
    expect(await compared(shown('3'))).toMatchObject({ different: 1, new: 0 })
    expect(await compared([company('A', { calculators: [kept] })])).toMatchObject({ absent: 1, different: 0, new: 1 })
    expect(await compared(shown('1'))).toMatchObject({ equal: 1, absent: 0, new: 0 })
    expect(await found()).toEqual([])
  })
})

describe('two properties that are one company', () => {
  beforeEach(async () => {
    await mapped('H-1', 'A')
    await mapped('H-2', 'A')
  })
  const shown = (value: string) => [company('A', { calculators: [month('A/1', { [power]: value })] })]

  it('two properties that are one company are both right where what stands is what one of them sent', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await accepted('H-2', '2025-3', { [power]: '2' })
    expect(await compared(shown('1'))).toMatchObject({ inputs: 2, equal: 2, different: 0 })
  })

  it('differ once, as the one that was accepted last, where it is neither', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await accepted('H-2', '2025-3', { [power]: '2' })
    expect(await compared(shown('3'))).toMatchObject({ inputs: 2, different: 1, unjudged: 1 })
    expect(await found()).toEqual(['different H-2 2025 3 power 2 3'])
  })

  it('two properties that are one company: a blank of one makes no lost value of the other right', async () => {
    await accepted('H-2', '2025-3', { [power]: '1' })
    await accepted('H-1', '2025-3', { [power]: null })
    const lost = [company('A', { calculators: [month('A/1', { [gas]: '5' })] })]
    expect(await compared(lost)).toMatchObject({ inputs: 2, absent: 1, equal: 1 })
    expect(await found()).toEqual(['absent H-2 2025 3 power 1 - value_not_returned'])
  })

  it('two properties that are one company: a blank of one is right where the value of the other stands', async () => {
    await accepted('H-2', '2025-3', { [power]: '1' })
    await accepted('H-1', '2025-3', { [power]: null })
    expect(await compared(shown('1'))).toMatchObject({ inputs: 2, equal: 2, different: 0 })
  })

  it('two properties that are one company: a blank of one that came later is not what a wrong value differs from', async () => {
    await accepted('H-2', '2025-3', { [power]: '1' })
    await accepted('H-1', '2025-3', { [power]: null })
    expect(await compared(shown('3'))).toMatchObject({ inputs: 2, different: 1, unjudged: 1 })
    expect(await found()).toEqual(['different H-2 2025 3 power 1 3'])
  })

  it('two properties that are one company are not judged while one of them is pending', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await pending(await accepted('H-2', '2025-3', { [power]: '2' }))
    expect(await compared(shown('3'))).toMatchObject({ inputs: 1, unjudged: 1, unsettled: 1, foreign_values: 0 })
  })

  it('two properties that are one company keep what was found of one while the other is pending', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await compared(shown('3'))
    await pending(await accepted('H-2', '2025-3', { [power]: '2' }))
    expect(await compared(shown('3'))).toMatchObject({ different: 0, unjudged: 1, new: 0 })
    expect(await found()).toEqual(['different H-1 2025 3 power 1 3'])
  })

  it('two properties that are one company keep nothing that was found of the one that is pending itself', async () => {
    const rowKey = await accepted('H-1', '2025-3', { [power]: '1' })
    await compared(shown('3'))
    await accepted('H-2', '2025-3', { [power]: '2' })
    await pending(rowKey)
    await compared(shown('3'))
    expect(await found()).toEqual([])
  })

  it('two properties that are one company keep nothing that was found of one where what stands is what the other sent, written otherwise', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    await compared(shown('3'))
    await accepted('H-2', '2025-3', { [power]: '3.0' })
    expect(await compared(shown('3'))).toMatchObject({ different: 0, written_differently: 1, unjudged: 1 })
    expect(await found()).toEqual([])
  })

  it('two properties that are one company are judged by the one that is left where the other is gone', async () => {
    const gone = await accepted('H-1', '2025-3', { [power]: '1' })
    await accepted('H-2', '2025-3', { [power]: '1' })
    await sql`update source_row set gone_at = clock_timestamp() where row_key = ${gone}`.execute(ferry.ledger.db)
    const lost = [company('A', { calculators: [month('A/1', { [gas]: '5' })] })]
    expect(await compared(lost)).toMatchObject({ inputs: 1, absent: 1, unjudged: 0, unsettled: 1 })
    expect(await found()).toEqual(['absent H-2 2025 3 power 1 - value_not_returned'])
  })

  it('two properties that are one company are judged by the one that was accepted where the other never was', async () => {
    const rowKey = await accepted('H-1', '2025-3', { [power]: '2' })
    await accepted('H-2', '2025-3', { [power]: '1' })
    await sql`
      update acceptance set accepted_hash = null, accepted_at = null
      where row_id = (select row_id from source_row where row_key = ${rowKey})`.execute(ferry.ledger.db)
    expect(await compared(shown('3'))).toMatchObject({ inputs: 1, different: 1, unjudged: 0, unsettled: 1 })
  })
})

describe('what others wrote', () => {
  beforeEach(() => mapped('H-1', 'A'))

  it('what others wrote is listed where its field is one that we send, counted where it is not, and left alone where the company is not ours', async () => {
    await accepted('H-1', '2025-3', { [power]: '1' })
    const calculators = [
      month('A/1', { [power]: '1', [water]: '5' }),
      month('A/2', { [power]: '4' }, { period: { year: 2025, month: 'April' } }),
    ]
    const stranger = company('B', { calculators: [month('B/1', { [power]: '6' })] })
    expect(await compared([company('A', { calculators }), stranger])).toMatchObject({
      ...{ equal: 1, foreign_values: 1, foreign_companies: 1, other_fields: 1, new: 0 },
    })
    expect(await found()).toEqual(['foreign H-1 2025 4 power - 4'])
  })

  it('what others wrote is not the year that the service adds up from our months, cleared or never sent', async () => {
    await accepted('H-1', '2025-3', { [power]: '1', [gas]: '1' })
    await accepted('H-1', '2025', { [gas]: null })
    const sums = year('A/2', { [power]: '1', [gas]: '1' })
    const calculators = [month('A/1', { [power]: '1', [gas]: '1' }), sums]
    expect(await compared([company('A', { calculators })])).toMatchObject({ inputs: 3, equal: 3, foreign_values: 0 })
  })
})

describe('a search', () => {
  beforeEach(async () => {
    await mapped('H-1', 'A')
    await accepted('H-1', '2025-3', { [power]: '1', [gas]: '2' })
  })

  it('a search that succeeded in part is compared with nothing, and what was found before stays', async () => {
    await compared([company('A', { calculators: [month('A/1', { [power]: '1', [gas]: '3' })] })])
    const before = await found()
    expect(before).toHaveLength(1)
    const all = [company('A', { calculators: [month('A/1', { [power]: '1', [gas]: '2' })] })]
    const withheld = { withheld: 'search_partial', inputs: 0, absent: 0 }
    expect(await compared(all, { taskStatus: 'PartialSuccess' })).toMatchObject(withheld)
    expect(await found()).toEqual(before)
  })

  it.each([
    ['the same', undefined],
    ['another', []],
  ])(
    'a search that selected calculator types shows what differs, and proves no input absent, where the configuration is %s by then',
    async (_, configured) => {
      const other = month('A/9', { [power]: '1', [gas]: '2' }, { typeId: uuid('water type') })
      await compared([company('A', { calculators: [other] })])
      const shown = [company('A', { calculators: [month('A/1', { [power]: '7' })] })]
      const search = { calculatorTypeIds: [uuid('carbon')], ...(configured && { configured }) }
      expect(await compared(shown, search)).toMatchObject({ different: 1, unjudged: 1 })
      expect(await found()).toEqual(['different H-1 2025 3 power 1 7'])
    },
  )

  it('a search that selected calculator types keeps what was found absent, until the row is accepted once more', async () => {
    const selective = { calculatorTypeIds: [uuid('carbon')] }
    const shown = (over: object = {}) => [company('A', { calculators: [month('A/1', { [power]: '1' }, over)] })]
    const line = 'absent H-1 2025 3 gas 2 - value_not_returned'
    await compared(shown())
    const found_by = () => ferry.ledger.db.selectFrom('input_difference').select('found_by_run').execute()
    const first = await found_by()
    for (let night = 0; night < 2; night++) {
      expect(await compared(shown(), selective)).toMatchObject({ absent: 0, unjudged: 1, new: 0 })
      expect(await found()).toEqual([line])
      expect(await found_by()).toEqual(first)
    }
    await accepted('H-1', '2025-3', { [power]: '1', [gas]: '3' })
    expect(await compared(shown(), selective)).toMatchObject({ absent: 0, unjudged: 1 })
    expect(await found()).toEqual([])
  })

  it('a search that leaves out a part of a company says nothing of that company, and keeps what is known of it', async () => {
    await mapped('H-2', 'B')
    await accepted('H-2', '2025-3', { [power]: '1' })
    const other = company('B', { calculators: [month('B/1', { [power]: '2' })] })
    await compared([company('A', { calculators: [month('A/1', { [power]: '1', [gas]: '3' })] }), other])
    const bad = month('A/1', { [power]: '1', [gas]: 5 as unknown as string })
    expect(await compared([company('A', { calculators: [bad] }), other])).toMatchObject({
      ...{ left_out_companies: 1, inputs: 1, different: 1, absent: 0 },
    })
    expect(await found()).toEqual(['different H-1 2025 3 gas 2 3', 'different H-2 2025 3 power 1 2'])
  })

  it('a search that leaves out a part of a company that is no hotel counts none that was not compared', async () => {
    const bad = month('B/1', { [power]: 5 as unknown as string })
    await accepted('H-1', '2025-3', { [power]: '1' })
    const a = company('A', { calculators: [month('A/1', { [power]: '1', [gas]: '3' })] })
    await compared([a, company('B', { calculators: [month('B/1', { [power]: '2' })] })])
    expect(await compared([a, company('B', { calculators: [bad] })])).toMatchObject({
      left_out_companies: 0,
      inputs: 1,
    })
  })

  it.each<[string, Record<string, string>, object]>([
    ['selected calculator types', { [power]: '1' }, { calculatorTypeIds: [uuid('carbon')] }],
    ['left out a part of the company', { [power]: '1', [gas]: 5 as unknown as string }, {}],
    ['succeeded in part', { [power]: '1' }, { taskStatus: 'PartialSuccess' }],
  ])('a search that %s has nothing sent over what an earlier one found', async (_, later, search) => {
    const repairable = () => ferry.ledger.inTransaction(countRepairable)
    const shown = (inputs: Record<string, string>) => [company('A', { calculators: [month('A/1', inputs)] })]
    await compared(shown({ [power]: '1' }))
    expect(await repairable()).toMatchObject([{ kind: 'absent', rows: 1 }])
    await compared(shown(later), search)
    expect(await repairable()).toEqual([])
    expect(await found()).toEqual(['absent H-1 2025 3 gas 2 - value_not_returned'])
    await compared(shown({ [power]: '1' }))
    expect(await repairable()).toMatchObject([{ kind: 'absent', rows: 1 }])
  })

  it('a calculator of which one input is missing is not sent over another that was found different and not judged since', async () => {
    const repairable = () => ferry.ledger.inTransaction(countRepairable)
    const shown = [company('A', { calculators: [month('A/1', { [power]: '7' })] })]
    await compared(shown)
    expect(await repairable()).toMatchObject([{ kind: 'different', rows: 1 }])
    await mapped('H-2', 'A')
    await pending(await accepted('H-2', '2025-3', { [power]: '2' }))
    await compared(shown)
    expect(await repairable()).toEqual([])
  })

  it('nothing is found of inputs that no run reads any more, and what stands of them is not foreign', async () => {
    await accepted('H-1', '2025-3', { [power]: '2', [gas]: '1' })
    await compared([company('A', { calculators: [month('A/1', { [gas]: '1' })] })])
    expect(await found()).toEqual(['absent H-1 2025 3 power 2 - value_not_returned'])
    const { db } = ferry.ledger
    const run = await db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
    await using deps = ferry.deps('http://127.0.0.1:9')
    await compareInputs(deps, run)
    expect(await found()).toEqual([])
  })

  it('a search is compared once more after a death, with the same result', async () => {
    const counts = await compared([company('A', { calculators: [month('A/1', { [power]: '1' })] })])
    const { db } = ferry.ledger
    const run = await db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
    const before = await found()
    await using deps = reading(ferry.deps('http://127.0.0.1:9'))
    await compareInputs(deps, run)
    expect(await found()).toEqual(before)
    expect(await comparisonOf(db, run.run_id)).toEqual(counts)
  })
})

it.each([
  [{ ended: false, reason: null, left_out: 0, listed_out: 0 }, 'pages_not_loaded'],
  [{ ended: true, reason: 'too_few_companies', left_out: 0, listed_out: 0 }, 'too_few_companies'],
  [{ ended: true, reason: null, left_out: 1001, listed_out: 1000 }, 'too_much_left_out'],
  [{ ended: true, reason: null, left_out: 2, listed_out: 2 }, null],
])('a search of which is known %j is not compared for %s', (search, reason) => {
  expect(reasonNotToCompare(search)).toBe(reason)
})
