import { type RawBuilder, sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { countRepairable } from '../../../src/db/ledger/found-otherwise.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { uuid } from '../pull/sample-page.ts'
import { ids } from '../push/rows.ts'
import { openComparedNight } from './compared-night.ts'

const night = await ofThisFile(openComparedNight())
beforeEach(async () => {
  await night.clear()
  // What stands as it was sent: where nothing does, nothing is compared.
  await night.mapped('H-9', 'other')
  await answered('H-9', 'stands')
})

/** The hotel's answer to the one question of 2025, under a framework, as the service took it. */
async function answered(hotel: string, value: string, framework = ids.framework): Promise<number> {
  return await night.accepted({
    ...{ stream: 'framework_answers', hotel, key: `${hotel} ${framework}` },
    content: {
      ...{ framework_id: framework, data_point_id: ids.number, value_type: 'text', value },
      ...{ period_type: 'Yearly', year: '2025' },
    },
  })
}

/** What the search shows: of each company the values of the one question. */
const shown = (companies: Record<string, string[]>, minutesAgo?: number, reads?: readonly string[]) =>
  night.compared({
    search: 'frameworkAnswersSearch',
    minutesAgo,
    ...(reads !== undefined && { reads }),
    lists: {
      companies: Object.entries({ other: ['stands'], ...companies }).map(([name, values]) => ({
        id: uuid(name),
        periods: [
          {
            ...{ periodType: 'Yearly', year: 2025 },
            answers: values.map((text) => ({ dataPointId: ids.number, answer: { text } })),
          },
        ],
      })),
    },
  })

it('a text with the word unit in it is found different where another text with it stands there', async () => {
  await night.mapped('H-1', 'A')
  await answered('H-1', 'Litres per unit sold')
  expect((await shown({ A: ['kWh per unit bought'] })).get('answers')).toMatchObject({ different: 1, unjudged: 0 })
  expect(await night.found()).toEqual(['different H-1 Litres per unit sold text kWh per unit bought'])
  expect((await shown({ A: ['Litres'] })).get('answers')).toMatchObject({ different: 1, unjudged: 0 })
})

it('a declined question of a stream that no run reads any more is not found absent', async () => {
  await night.mapped('H-1', 'A')
  const content = { period_type: 'Yearly', year: '2025', question_id: ids.question }
  await night.accepted({ stream: 'omissions', hotel: 'H-1', key: 'declined', content })
  const before = await night.found()
  expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent: 1, unsettled: 0 })
  const reads = streamNames.filter((name) => name !== 'omissions')
  expect((await shown({ A: [] }, undefined, reads)).get('answers')).toMatchObject({ absent: 0, unsettled: 1, equal: 1 })
  expect(await night.found()).toEqual(before)
  expect(await repairable()).toEqual([])
})

const repairable = () => night.ferry.ledger.inTransaction(countRepairable)
const ofRow = (rowId: number) => sql`row_id = ${rowId}`

describe('a row that writes what another one writes', () => {
  beforeEach(() => night.mapped('H-1', 'A'))

  it('a row of a hotel that is gone keeps no loss of the other hotel of its company from being found', async () => {
    await night.mapped('H-2', 'A')
    const gone = await answered('H-1', 'yes')
    await answered('H-2', 'yes')
    await sql`update source_row set gone_at = clock_timestamp() where ${ofRow(gone)}`.execute(night.ferry.ledger.db)
    expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent: 1, unjudged: 0, unsettled: 1, equal: 1 })
    expect(await night.found()).toEqual(['absent H-2 yes -'])
  })

  it('a row that moved to another framework is found lost there', async () => {
    const gone = await answered('H-1', 'yes')
    await answered('H-1', 'yes', ids.otherFramework)
    await sql`update source_row set gone_at = clock_timestamp() where ${ofRow(gone)}`.execute(night.ferry.ledger.db)
    expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent: 1, unjudged: 0, unsettled: 1 })
  })

  it.each<[string, number, (row: number) => Promise<unknown>]>([
    ['no request has carried', 1, () => Promise.resolve()],
    ['every request was refused over', 1, (row) => carried(row, 'rejected')],
    ['a request carried to an end that nobody knows', 0, (row) => carried(row, 'unknown')],
    ['a request carried that failed over it alone', 0, (row) => carried(row, 'rejected', { code: 'task_error_alone' })],
    ['a request carried that named it in an error', 1, (row) => carried(row, 'rejected', { code: 'OutOfRange' })],
    ['a request carried to its rejection at the second go', 0, (row) => carried(row, 'rejected', { repeats: 1 })],
    ['a forgotten request failed over alone', 0, (row) => standsWith(row, 'rejected', 'task_error_alone')],
    ['a forgotten request carried to an end that nobody knows', 0, (row) => standsWith(row, 'unknown')],
    ['a request carries', 0, (row) => carried(row, null)],
    ['a request carried to another destination', 1, (row) => takenElsewhere(row)],
    [
      'a request carried to the company that its hotel was before',
      1,
      async (row) => [await taken(row), await moves('H-1')],
    ],
    ['a request carried before another hotel moved', 0, async (row) => [await taken(row), await moves('H-9')]],
    ['a request carried once its hotel had moved', 0, async (row) => [await moves('H-1'), await taken(row)]],
    ['a request that never left was planned for', 1, (row) => planned(row, null)],
    ['a request that was attempted and never left was given up over', 1, (row) => planned(row, attempted)],
    ['a request that may have left was given up over', 0, (row) => planned(row, attempted, 'unknown')],
  ])('a row that was never accepted and %s leaves so many losses to be found: %i', async (_, absent, change) => {
    await night.mapped('H-2', 'A')
    const pending = await answered('H-1', 'no')
    await answered('H-2', 'yes')
    const { db } = night.ferry.ledger
    await sql`
      update acceptance set accepted_hash = null, accepted_at = null, outcome = null, outcome_submission = null
      where ${ofRow(pending)}`.execute(db)
    await change(pending)
    expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent, unjudged: 1 - absent, unsettled: 1 })
  })

  it('a row that was accepted and waits to be sent again leaves the other one open', async () => {
    await night.mapped('H-2', 'A')
    const pending = await answered('H-1', 'no')
    await answered('H-2', 'yes')
    await sql`update acceptance set accepted_hash = null where ${ofRow(pending)}`.execute(night.ferry.ledger.db)
    expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent: 0, unjudged: 1, unsettled: 1 })
  })

  it('a row that was found lost stays so while the other one is open', async () => {
    await night.mapped('H-2', 'A')
    await answered('H-2', 'yes')
    await shown({ A: [] })
    const open = await answered('H-1', 'no')
    await sql`update acceptance set accepted_hash = null where ${ofRow(open)}`.execute(night.ferry.ledger.db)
    expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent: 0, unjudged: 1, new: 0 })
    expect(await night.found()).toEqual(['absent H-2 yes -'])
    await shown({ A: ['yes'] })
    expect(await night.found()).toEqual([])
  })

  it.each([
    ['different', ['no'], ['perhaps'], 'text no'],
    ['absent', [], ['perhaps'], '-'],
  ])(
    'a row that was found %s is listed and not repaired while the other one is open',
    async (kind, before, now, stored) => {
      await night.mapped('H-2', 'A')
      await answered('H-2', 'yes')
      await shown({ A: before })
      expect(await repairable()).toMatchObject([{ kind, rows: 1 }])
      const open = await answered('H-1', 'maybe')
      await sql`update acceptance set accepted_hash = null where ${ofRow(open)}`.execute(night.ferry.ledger.db)
      await shown({ A: now })
      expect(await repairable()).toEqual([])
      expect(await night.found()).toEqual([`${kind} H-2 yes ${stored}`])
      await sql`update source_row set gone_at = clock_timestamp() where ${ofRow(open)}`.execute(night.ferry.ledger.db)
      await sql`update acceptance set accepted_at = null where ${ofRow(open)}`.execute(night.ferry.ledger.db)
      await shown({ A: before })
      expect(await repairable()).toMatchObject([{ kind, rows: 1 }])
    },
  )
})

/** What stands with a row whose request was removed since. */
async function standsWith(rowId: number, outcome: 'rejected' | 'unknown', code: string | null = null): Promise<void> {
  await sql`
    update acceptance set outcome = ${outcome}, outcome_code = ${code}, perhaps_taken_at = clock_timestamp()
    where ${ofRow(rowId)}`.execute(night.ferry.ledger.db)
}

/** A request that carried the row, and what it came to; null: nothing yet. */
async function carried(
  rowId: number,
  outcome: 'inferred' | 'rejected' | 'unknown' | null,
  { code = null, repeats = 0 }: { code?: string | null; repeats?: number } = {},
): Promise<void> {
  await sql`
    with request as (
      insert into submission (run_id, kind, partition, state, row_count, rest_outcome, rest_code, repeats)
      select max(run_id), 'framework_answers', '', ${outcome === null ? 'accepted' : 'settled'}, 1, ${outcome}, ${code},
             ${repeats} from run
      returning submission_id
    ),
    told as (
      update acceptance set outcome = ${outcome}, outcome_code = ${code},
        outcome_submission = case when ${outcome}::text is not null then submission_id end
      from request where ${ofRow(rowId)}
    ),
    held as (
      insert into held_property (partner_id, stream, submission_id)
      select partner_id, stream, submission_id from source_row, request where ${ofRow(rowId)} and ${outcome}::text is null
    )
    insert into submission_row (submission_id, row_id, sent_hash)
    select submission_id, row_id, desired_hash from source_row, request where ${ofRow(rowId)}`.execute(
    night.ferry.ledger.db,
  )
}

/** A request that took the row, of which nothing stands with the row. */
async function taken(rowId: number): Promise<void> {
  await carried(rowId, 'inferred')
  await sql`
    update acceptance set outcome = null, outcome_submission = null where ${ofRow(rowId)}`.execute(
    night.ferry.ledger.db,
  )
}

async function takenElsewhere(rowId: number): Promise<void> {
  const { ledger } = night.ferry
  const runId = await ledger.startRun()
  await taken(rowId)
  await sql`
    with elsewhere as (
      insert into destination (name, schema_name, left_at) values ('elsewhere', 'nightferry_destination_99', now())
      returning destination_id
    )
    update run set destination_id = elsewhere.destination_id from elsewhere where run_id = ${runId}`.execute(ledger.db)
}

/** The hotel became another company. */
async function moves(hotel: string): Promise<void> {
  await sql`
    with request as (
      insert into submission (run_id, kind, partition, state, row_count)
      select max(run_id), 'company_mappings', '', 'settled', 1 from run
      returning submission_id
    )
    insert into mapping_change (partner_id, company_before, company_id, submission_id, rows)
    select ${hotel}, ${uuid('before')}, ${uuid('A')}, submission_id, 1 from request`.execute(night.ferry.ledger.db)
}

const attempted = sql`clock_timestamp()`

/**
 * A request that was given up, and one that was refused over the row later.
 * @param outcome of the first: only what may have left has one.
 */
async function planned(
  rowId: number,
  attemptedAt: RawBuilder<unknown> | null,
  outcome: 'unknown' | null = null,
): Promise<void> {
  await sql`
    with request as (
      insert into submission (run_id, kind, partition, state, row_count, attempted_at, rest_outcome)
      select max(run_id), 'framework_answers', '', 'abandoned', 1, ${attemptedAt}, ${outcome} from run
      returning submission_id
    )
    insert into submission_row (submission_id, row_id, sent_hash)
    select submission_id, row_id, desired_hash from source_row, request where ${ofRow(rowId)}`.execute(
    night.ferry.ledger.db,
  )
  await carried(rowId, 'rejected')
}

describe('a custom property that the search asked for and left out', () => {
  const [left, kept] = [uuid('left out'), uuid('kept')]
  const value = (property: string) => ({
    ...{ stream: 'custom_property_values', hotel: 'H-1', key: `H-1 ${property}` },
    content: { property_id: property, value: '12' },
  })
  /** The search for both: what its head lists, and what it shows of the company and of another one. */
  const searched = async (listed: string[], shown: object, ofOther: object = {}) => {
    const counts = await night.compared({
      search: 'companiesSearch',
      body: { customPropertyIds: [left, kept] },
      lists: {
        customProperties: listed.map((id) => ({ id, name: 'A property' })),
        companies: [
          { id: uuid('A'), fields: shown },
          { id: uuid('other'), fields: ofOther },
        ],
      },
    })
    return counts.get('property_values')
  }
  beforeEach(async () => {
    await night.mapped('H-1', 'A')
    await night.accepted(value(left))
    await night.accepted(value(kept))
  })

  it('a custom property that the search asked for and left out is not judged, and no value of it is taken for lost', async () => {
    expect(await searched([kept], { [kept]: ['12'] })).toMatchObject({ absent: 0, equal: 1, unjudged: 1 })
    expect(await night.found()).toEqual([])
  })

  it('a custom property that the search leaves out keeps what was found of it, until its row is accepted once more', async () => {
    const leftOut = () => searched([kept], { [kept]: ['12'] })
    await searched([left, kept], { [kept]: ['12'] })
    const lost = ['absent H-1 12 -']
    expect(await night.found()).toEqual(lost)
    for (let again = 0; again < 2; again++) {
      expect(await leftOut()).toMatchObject({ absent: 0, unjudged: 1, new: 0 })
      expect(await night.found()).toEqual(lost)
    }
    await night.accepted(value(left))
    await leftOut()
    expect(await night.found()).toEqual([])
  })

  it('a custom property that its head lists, or that any company shows, is judged', async () => {
    const lost = { absent: 1, equal: 1, unjudged: 0, withheld: null }
    expect(await searched([left.toUpperCase(), kept], { [kept]: ['12'] })).toMatchObject(lost)
    expect(await searched([], { [kept]: ['12'] }, { [left.toUpperCase()]: ['7'] })).toMatchObject(lost)
    expect(await night.found()).toEqual(['absent H-1 12 -'])
  })

  it('a custom property is as suspicious as its page where the search shows none of those that it asked for', async () => {
    expect(await searched([], {})).toMatchObject({ absent: 0, suspicious: true })
  })
})

describe('a custom property of a company that has one time for all of its values', () => {
  const [spoilt, sent] = [uuid('spoilt'), uuid('sent')]
  const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000)
  const value = async (property: string, left: number, accepted = left) => {
    const rowId = await night.accepted({
      ...{ stream: 'custom_property_values', hotel: 'H-1', key: `H-1 ${property}` },
      content: { property_id: property, value: '12' },
    })
    await sql`
      with accepted as (
        update acceptance set accepted_at = ${ago(accepted)} where ${ofRow(rowId)} returning outcome_submission)
      update submission set attempted_at = ${ago(left)} from accepted
      where submission_id = outcome_submission`.execute(night.ferry.ledger.db)
  }
  /** Compares while the one is spoilt; says since when that is known to be so. */
  const changedThere = async (changedAt: Date) => {
    await night.compared({
      search: 'companiesSearch',
      body: { customPropertyIds: [spoilt, sent] },
      lists: {
        customProperties: [spoilt, sent].map((id) => ({ id, name: 'A property' })),
        companies: [{ id: uuid('A'), changedAt, fields: { [spoilt]: ['7'], [sent]: ['12'] } }],
      },
    })
    const differences = await night.ferry.ledger.db.selectFrom('row_difference').select('changed_there_at').execute()
    return differences.map(({ changed_there_at }) => changed_there_at)
  }
  beforeEach(() => night.mapped('H-1', 'A'))

  it('a custom property is repaired where the time may be that of our own writing of another one', async () => {
    await value(spoilt, 48)
    await value(sent, 24.2, 24)
    await changedThere(ago(24.1))
    expect(await repairable()).toMatchObject([{ kind: 'different', rows: 1 }])
  })

  it.each<[string, [number, number], [number, number], number]>([
    ['after all that we wrote', [48, 48], [24, 24], 23],
    ['while its own request waited to be settled', [48, 24], [49, 49], 30],
    ['between two requests of ours', [48, 48], [24.2, 24], 30],
  ])('a custom property is left alone where the company was changed %s', async (_, own, other, hours) => {
    await value(spoilt, ...own)
    await value(sent, ...other)
    const changed = ago(hours)
    expect(await changedThere(changed)).toEqual([changed])
    expect(await repairable()).toEqual([])
  })
})

describe('a row that was accepted while the clock was ahead', () => {
  beforeEach(() => night.mapped('H-1', 'A'))

  it.each([
    ['row that was accepted', sql`update acceptance set accepted_at = clock_timestamp() + interval '1 day'`],
    ['hotel that was mapped', sql`update mapping set mapped_at = clock_timestamp() + interval '1 day'`],
  ])('the loss of a %s while the clock was ahead is found, listed and repaired', async (_, change) => {
    await answered('H-1', 'yes')
    await sql`${change} where partner_id = 'H-1'`.execute(night.ferry.ledger.db)
    expect((await shown({ A: [] })).get('answers')).toMatchObject({ absent: 1, unsettled: 0 })
    expect(await night.found()).toEqual(['absent H-1 yes -'])
    expect(await repairable()).toMatchObject([{ kind: 'absent', rows: 1 }])
  })

  it('a row that was accepted while the clock was ahead is not sent over a change there, which may be younger', async () => {
    const { db } = night.ferry.ledger
    const rowId = await answered('H-1', 'yes')
    await sql`
      with ahead as (
        update acceptance set accepted_at = clock_timestamp() + interval '1 day' where ${ofRow(rowId)}
        returning outcome_submission)
      update submission set attempted_at = clock_timestamp() + interval '1 day' from ahead
      where submission_id = outcome_submission`.execute(db)
    await shown({ A: ['no'] })
    expect(await repairable()).toMatchObject([{ kind: 'different', rows: 1 }])
    await sql`update row_difference set changed_there_at = clock_timestamp()`.execute(db)
    expect(await repairable()).toEqual([])
  })

  it.each([
    ['at a time after it', sql`accepted_at = clock_timestamp() - interval '30 minutes'`],
    ['by a request that was planned after it', sql`outcome_submission = 1000000`],
    [
      'at a time ahead, nobody knows by which request',
      sql`
      accepted_at = clock_timestamp() + interval '1 day', outcome_submission = null`,
    ],
  ])('a row that the service took after the search was planned is not compared: %s', async (_, change) => {
    const rowId = await answered('H-1', 'yes')
    await sql`update acceptance set accepted_at = clock_timestamp() - interval '2 hours'`.execute(night.ferry.ledger.db)
    await sql`update mapping set mapped_at = clock_timestamp() - interval '2 hours'`.execute(night.ferry.ledger.db)
    await sql`update acceptance set ${change} where ${ofRow(rowId)}`.execute(night.ferry.ledger.db)
    expect((await shown({ A: [] }, 60)).get('answers')).toMatchObject({ equal: 1, absent: 0, unsettled: 1 })
  })
})
