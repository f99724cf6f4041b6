import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { knowFrameworks, preflightOf } from './framework.ts'
import { extractNow, type Streams } from './partner.ts'
import { type DialectPartner, hotelsQuery, readingsQuery } from './partners.ts'

/** Readings of the first month are answers, of the second omissions; the field is the framework. */
const answersQuery = `
  select code as partner_id, field as framework_id, 'Yearly' as period_type, year, null as month,
         '${ids.number}' as data_point_id, value, null as value_type, '${ids.unit}' as unit_id, at
  from reading where month = 1`
const omissionsQuery = `
  select code as partner_id, 'Yearly' as period_type, year, null as month, '${ids.question}' as question_id, at
  from reading where month = 2`

const questionnaire: Streams = {
  framework_answers: { query: answersQuery, cursor: 'at' },
  omissions: { query: omissionsQuery, cursor: 'at' },
}
const hotels: Streams = { properties: { query: hotelsQuery, cursor: 'at' } }

/** What a cursor does not show, and how it is found all the same; holds for a partner's database of any dialect. */
export function describeWholeReading(open: () => Promise<DialectPartner>): void {
  let ferry: Ferry
  let partner: DialectPartner
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await open()
  })
  beforeEach(async () => {
    await ferry.clear()
    await partner.clear()
  })
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  const night = async (streams: Streams, overlapMs = 0) => {
    const run = await extractNow(ferry, partner, streams, { overlapMs })
    await preflightOf(ferry, run)
    return run
  }
  const accept = () =>
    ferry.ledger.pool.query(
      `update acceptance set accepted_hash = wanted_hash, accepted_at = now()
       from source_row row where row.row_id = acceptance.row_id and gone_at is null`,
    )
  const aWeekLater = () => ferry.ledger.pool.query(`update stream_reading set whole_at = whole_at - interval '7 days'`)
  const streamOf = (runId: number, stream: string) =>
    ferry.ledger.db
      .selectFrom('run_stream')
      .selectAll()
      .where('run_id', '=', runId)
      .where('stream', '=', stream)
      .executeTakeFirstOrThrow()
  const ledger = async (stream: string) =>
    (
      await ferry.ledger.db
        .selectFrom('ledger')
        .select(['partner_id', 'invalid_reason', 'gone_at'])
        .where('stream', '=', stream)
        .orderBy('row_id')
        .execute()
    ).map(({ partner_id, invalid_reason, gone_at }) => [
      partner_id,
      gone_at !== null ? 'gone' : invalid_reason === null ? 'valid' : 'invalid',
    ])
  const answer = (code: string, day: number, value = 1, framework: string = ids.framework) =>
    partner.run(`insert into reading values ('${code}', 2025, 1, '${framework}', ${value}, '2026-01-0${day} 00:00:00')`)
  const decline = (code: string, day: number) =>
    partner.run(`insert into reading values ('${code}', 2025, 2, 'none', 0, '2026-01-0${day} 00:00:00')`)
  const hotel = (code: string, day: number) =>
    partner.run(`insert into hotel values (${partner.literal(code)}, 'one', '2026-01-0${day} 00:00:00', ${day})`)

  it('gives a calculator that was gone and returns the inputs that return with it', async () => {
    const streams: Streams = { calculator_inputs: { query: readingsQuery, cursor: 'at' } }
    const reading = (field: string, day: number) =>
      partner.run(`insert into reading values ('H-1', 2025, 1, '${field}', 1, '2026-01-0${day} 00:00:00')`)
    const other = `insert into reading values ('H-2', 2025, 1, '${ids.field}', 1, '2026-01-01 00:00:00')`
    await partner.run(other)
    await reading(ids.field, 1)
    await reading(ids.otherField, 1)
    await night(streams)
    await accept()
    await partner.run(`delete from reading where code = 'H-1'`)
    await aWeekLater()
    await night(streams)
    expect(await ledger('calculator_inputs')).toContainEqual(['H-1', 'gone'])

    await reading(ids.field, 3)
    await night(streams)
    const { content } = await ferry.ledger.db
      .selectFrom('ledger')
      .select('content')
      .where('partner_id', '=', 'H-1')
      .executeTakeFirstOrThrow()
    expect(content.inputs).toEqual({ [ids.field]: expect.anything(), [ids.otherField]: null })
  })

  describe('a cursor stream whose rows contradict each other', () => {
    beforeEach(() => knowFrameworks(ferry))
    const changes = Object.fromEntries(
      Object.entries(questionnaire).map(([name, stream]) => [name, { ...stream, fullEvery: 'never' as const }]),
    )

    it('lets an answer through to a question that the hotel had declined, in the night in which it comes', async () => {
      await decline('H-1', 1)
      await decline('H-2', 1)
      // The newest of its stream, so that nothing but the contradiction makes the run look.
      await decline('H-9', 2)
      await night(questionnaire)
      await accept()
      await partner.run(`delete from reading where code in ('H-1', 'H-2')`)
      await answer('H-1', 3)
      const run = await night(questionnaire)
      expect(await ledger('framework_answers')).toEqual([['H-1', 'valid']])
      // Hotel 2 contradicts nothing, so nobody asked for it.
      expect(await ledger('omissions')).toEqual([
        ['H-1', 'gone'],
        ['H-2', 'valid'],
        ['H-9', 'valid'],
      ])
      expect(await streamOf(run, 'omissions')).toMatchObject({ whole: null, hotels_asked: 1, gone: 1, changed: 0 })
    })

    it('where only changes are yielded, an answer takes the place of what it contradicts, and of nothing else', async () => {
      for (const hotel of ['H-1', 'H-2']) await decline(hotel, 1)
      await partner.run(`insert into reading values ('H-1', 2024, 2, 'none', 0, '2026-01-01 00:00:00')`)
      await night(changes)
      await accept()
      await partner.run('delete from reading')
      await answer('H-1', 3)
      await night(changes)
      expect(await ledger('framework_answers')).toEqual([['H-1', 'valid']])
      expect(new Set((await ledger('omissions')).map(String))).toEqual(new Set(['H-1,gone', 'H-1,valid', 'H-2,valid']))
      // Neither is yielded any more, and both stay as they are.
      await partner.run('delete from reading')
      await night(changes)
      expect(await ledger('framework_answers')).toEqual([['H-1', 'valid']])
    })

    it('where only changes are yielded, both stay if the night that brought the answer could not ask', async () => {
      await decline('H-1', 1)
      await night(changes)
      await accept()
      await partner.run('delete from reading')
      await answer('H-1', 3)
      const { framework_answers: answersAlone = {} } = changes
      await night({ framework_answers: answersAlone })
      expect(await ledger('omissions')).toEqual([['H-1', 'valid']])
      await partner.run('delete from reading')
      await night(changes)
      expect(await ledger('omissions')).toEqual([['H-1', 'valid']])
      expect(await ledger('framework_answers')).toEqual([['H-1', 'invalid']])
    })

    it('where only changes are yielded, what came once more beside what contradicts it stays', async () => {
      await decline('H-1', 1)
      await night(changes)
      await accept()
      await partner.run('delete from reading')
      await answer('H-1', 2)
      await decline('H-1', 3)
      await night(changes)
      await partner.run('delete from reading')
      await night(changes)
      expect(await ledger('omissions')).toEqual([['H-1', 'valid']])
      expect(await ledger('framework_answers')).toEqual([['H-1', 'invalid']])
    })

    it('sends an answer again that moves to another framework and back, because the service has the other', async () => {
      await answer('H-1', 1, 1)
      await night(questionnaire)
      await accept()
      await partner.run(`delete from reading where code = 'H-1'`)
      await answer('H-1', 2, 2, ids.otherFramework)
      await night(questionnaire)
      await accept()
      await partner.run(`delete from reading where code = 'H-1'`)
      await answer('H-1', 3, 1)
      await night(questionnaire)
      const { rows } = await ferry.ledger.pool.query(
        `select pending, outcome_code from ledger where stream = 'framework_answers' and gone_at is null`,
      )
      expect(rows).toEqual([{ pending: true, outcome_code: 'row_returned' }])
    })

    it('lets an answer through that moved to another framework', async () => {
      await answer('H-1', 1, 1)
      await answer('H-9', 2)
      await night(questionnaire)
      await accept()
      await partner.run(`delete from reading where code = 'H-1'`)
      await answer('H-1', 3, 2, ids.otherFramework)
      const run = await night(questionnaire)
      expect(await ledger('framework_answers')).toEqual([
        ['H-1', 'gone'],
        ['H-9', 'valid'],
        ['H-1', 'valid'],
      ])
      const { read, folded, unchanged, changed } = await streamOf(run, 'framework_answers')
      expect(read).toBe(folded + unchanged + changed)
    })

    it('stays invalid while the partner has both rows, and is valid in the night after one is deleted', async () => {
      await decline('H-1', 1)
      await decline('H-9', 4)
      await night(questionnaire)
      await answer('H-1', 3)
      await answer('H-9', 4)
      for (const _ of [1, 2]) {
        await night(questionnaire)
        expect((await ledger('framework_answers'))[0]).toEqual(['H-1', 'invalid'])
      }
      await partner.run(`delete from reading where code = 'H-1' and month = 2`)
      await night(questionnaire)
      expect((await ledger('framework_answers'))[0]).toEqual(['H-1', 'valid'])
      expect((await ledger('omissions'))[0]).toEqual(['H-1', 'gone'])
    })

    it('asks for hotels by their very ids, whatever those are', async () => {
      const odd = ['h-1', 'H-1', 'H-1 ', '7', '7.0', "O'Hara", 'ホテル', '']
      for (const id of odd)
        await partner.run(
          `insert into reading values (${partner.literal(id)}, 2025, 2, 'none', 0, '2026-01-01 00:00:00')`,
        )
      await decline('last', 2)
      await night(questionnaire)
      await accept()
      for (const id of odd)
        await partner.run(
          `insert into reading values (${partner.literal(id)}, 2025, 1, '${ids.framework}', 1, '2026-01-03 00:00:00')`,
        )
      const run = await night(questionnaire)
      // All of them are there still, so none of them may be found gone.
      expect(await streamOf(run, 'omissions')).toMatchObject({ gone: 0, hotels_asked: odd.length })
      await partner.run(`delete from reading where code = 'H-1' and month = 2`)
      await night(questionnaire)
      expect((await ledger('omissions')).filter(([, state]) => state === 'gone').length).toBeGreaterThanOrEqual(1)
      expect((await ledger('omissions')).find(([id]) => id === 'H-1')).toEqual(['H-1', 'gone'])
      expect((await ledger('omissions')).find(([id]) => id === '7.0')).toEqual(['7.0', 'valid'])
    })

    it('a stream with two rows of one key keeps the one that the partner still has, though no cursor moved', async () => {
      await partner.run(
        `insert into hotel values ('H-1', 'Harbor', '2026-01-01 00:00:00', 1), ('H-1', 'Harbour', '2026-01-01 00:00:00', 1)`,
      )
      await hotel('H-9', 2)
      await night(hotels)
      expect((await ledger('properties')).find(([id]) => id === 'H-1')).toEqual(['H-1', 'invalid'])
      await partner.run(`delete from hotel where name = 'Harbour'`)
      await night(hotels)
      expect(await ferry.ledger.row('properties', 'H-1')).toMatchObject({
        content: { name: 'Harbor' },
        invalid_reason: null,
      })
    })
  })

  describe('a cursor stream', () => {
    it('sees deletions once fullEvery has passed, and not before', async () => {
      for (const day of [1, 2, 3]) await hotel(`H-${day}`, day)
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({ whole: 'first' })
      await accept()
      await partner.run(`delete from hotel where code = 'H-1'`)
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({ whole: null, read: 1, gone: 0 })
      await aWeekLater()
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({
        whole: 'due',
        read: 2,
        unchanged: 2,
        changed: 0,
        gone: 1,
      })
      expect((await ferry.ledger.pool.query('select partner_id from drift')).rows).toEqual([{ partner_id: 'H-1' }])
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({ whole: null })
    })

    it('loses a row that one mistake brought in, one with an empty id, once fullEvery has passed', async () => {
      await hotel('H-1', 1)
      await hotel('', 2)
      await hotel('H-3', 3)
      await night(hotels)
      await partner.run(`delete from hotel where code = ''`)
      await aWeekLater()
      await night(hotels)
      expect(await ledger('properties')).toEqual([
        ['H-1', 'valid'],
        ['', 'gone'],
        ['H-3', 'valid'],
      ])
    })

    it('never compares everything where fullEvery is never', async () => {
      for (const day of [1, 2]) await hotel(`H-${day}`, day)
      const never: Streams = { properties: { ...hotels.properties, fullEvery: 'never' } }
      await night(never)
      await partner.run(`delete from hotel where code = 'H-1'`)
      await aWeekLater()
      expect(await streamOf(await night(never), 'properties')).toMatchObject({ whole: null, gone: 0 })
    })

    it('a table of changes that was cleared takes nothing back: no row is gone, no input blank, nothing held', async () => {
      const inputs = `
        insert into reading values ('H-1', 2025, 3, '${ids.field}', 1, '2026-01-01 00:00:00'),
          ('H-1', 2025, 3, '${ids.otherField}', 2, '2026-01-01 00:00:00'), ('H-2', 2025, 3, '${ids.field}', 3, '2026-01-02 00:00:00')`
      const changes: Streams = {
        calculator_inputs: { query: readingsQuery, cursor: 'at', fullEvery: 'never' },
      }
      await partner.run(inputs)
      await night(changes)
      await accept()
      await partner.run('delete from reading')
      const empty = await night(changes)
      expect(await streamOf(empty, 'calculator_inputs')).toMatchObject({ whole: 'cleared', read: 0, gone: 0 })
      expect(await ferry.ledger.db.selectFrom('run').select('held').where('run_id', '=', empty).execute()).toEqual([
        { held: false },
      ])

      await partner.run(`insert into reading values ('H-1', 2025, 3, '${ids.field}', 5, '2026-01-03 00:00:00')`)
      expect(await streamOf(await night(changes), 'calculator_inputs')).toMatchObject({ changed: 1, gone: 0 })
      expect(await ledger('calculator_inputs')).toEqual([
        ['H-1', 'valid'],
        ['H-2', 'valid'],
      ])
      const { rows } = await ferry.ledger.pool.query<{ inputs: object }>(
        `select content -> 'inputs' as inputs from source_row where partner_id = 'H-1'`,
      )
      expect(rows).toEqual([
        { inputs: { [ids.field]: expect.stringMatching(/^5/), [ids.otherField]: expect.stringMatching(/^2/) } },
      ])
    })

    it('takes an input back that is gone, in a full comparison', async () => {
      const inputs: Streams = { calculator_inputs: { query: readingsQuery, cursor: 'at' } }
      await partner.run(
        `insert into reading values ('H-1', 2025, 3, '${ids.field}', 1.5, '2026-01-01 00:00:00'),
           ('H-1', 2025, 3, '${ids.otherField}', 2, '2026-01-01 00:00:00'), ('H-9', 2025, 3, '${ids.field}', 1, '2026-01-02 00:00:00')`,
      )
      await night(inputs)
      await accept()
      await partner.run(`delete from reading where field = '${ids.otherField}'`)
      await aWeekLater()
      await night(inputs)
      const { rows } = await ferry.ledger.pool.query<{ inputs: object }>(
        `select content -> 'inputs' as inputs from source_row where partner_id = 'H-1'`,
      )
      expect(rows).toEqual([{ inputs: { [ids.field]: '1.5', [ids.otherField]: null } }])
    })

    it('a cursor stream is read whole when the newest row known is gone or went back, as after a restore, and its watermark goes back', async () => {
      for (const day of [1, 2]) await hotel(`H-${day}`, day)
      await night(hotels)
      await partner.run(`update hotel set name = 'two', at = '2026-01-04 00:00:00' where code = 'H-1'`)
      await hotel('H-5', 5)
      const before = await streamOf(await night(hotels), 'properties')
      // The older copy, with its older times.
      await partner.run(`update hotel set name = 'one', at = '2026-01-01 00:00:00' where code = 'H-1'`)
      await partner.run(`delete from hotel where code = 'H-5'`)
      const after = await streamOf(await night(hotels), 'properties')
      expect(after).toMatchObject({ whole: 'newest_row', read: 2, changed: 1, gone: 1 })
      expect(after.whole_detail).toContain(`H-5 carried ${before.watermark_after}; the newest cursor is 2026-01-02`)
      expect(String(after.watermark_after) < String(before.watermark_after)).toBe(true)
      // What is written from then on has a time that lies before the watermark of old.
      await hotel('H-3', 3)
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({ whole: null, changed: 1 })
    })

    it('a cursor stream is read whole when the newest row went back by less than the overlap', async () => {
      await hotel('H-1', 1)
      await partner.run(`insert into hotel values ('H-2', 'new', '2026-01-02 00:05:00', 2)`)
      await night(hotels, 600_000)
      expect(await streamOf(await night(hotels, 600_000), 'properties')).toMatchObject({ whole: null })
      await partner.run(`update hotel set name = 'old', at = '2026-01-02 00:00:00' where code = 'H-2'`)
      expect(await streamOf(await night(hotels, 600_000), 'properties')).toMatchObject({
        whole: 'newest_row',
        changed: 1,
      })
    })

    it('a cursor stream is read from its watermark when the newest row moved on', async () => {
      await hotel('H-1', 1)
      await hotel('H-2', 2)
      await night(hotels)
      await partner.run(`update hotel set at = '2026-01-03 00:00:00' where code = 'H-2'`)
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({ whole: null, read: 1 })
    })

    it.each([
      ['another column of another type', { query: hotelsQuery, cursor: 'number' }],
      [
        'another column of the same type',
        { query: hotelsQuery.replace(', at,', ', at, at as later,'), cursor: 'later' },
      ],
      [
        'the same column with another type',
        { query: `select h.*, number as at from (${hotelsQuery.replace(' at,', '')}) h`, cursor: 'at' },
      ],
    ])('a cursor stream is read whole once when its cursor is %s', async (_, changed) => {
      await hotel('H-1', 1)
      await hotel('H-2', 2)
      await night(hotels)
      await partner.run(`update hotel set name = 'missed' where code = 'H-1'`)
      const run = await streamOf(await night({ properties: changed }), 'properties')
      expect(run).toMatchObject({ whole: 'cursor', read: 2, changed: 1 })
      expect(run.whole_detail).toMatch(new RegExp(`^was at \\(.+\\) and is ${changed.cursor} \\(.+\\)$`))
      expect(await streamOf(await night({ properties: changed }), 'properties')).toMatchObject({ whole: null, read: 1 })
    })

    it('says when its capture changed, both ways, and finds what was deleted meanwhile', async () => {
      for (const day of [1, 2]) await hotel(`H-${day}`, day)
      const snapshots: Streams = { properties: { query: hotelsQuery, capture: 'snapshot' } }
      await night(hotels)
      expect(await streamOf(await night(snapshots), 'properties')).toMatchObject({ whole: 'capture' })
      expect(await streamOf(await night(snapshots), 'properties')).toMatchObject({ whole: null })
      await partner.run(`delete from hotel where code = 'H-1'`)
      expect(await streamOf(await night(hotels), 'properties')).toMatchObject({ whole: 'capture', gone: 1 })
    })
  })
}
