import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { recordAction } from '../../../src/db/actions/record-action.ts'
import { parkedGroups } from '../../../src/db/ledger/parked-groups.ts'
import type { RowFilter } from '../../../src/db/ledger/row-filter.ts'
import { releaseRetries } from '../../../src/db/ledger/rows-again.ts'
import { causesOfRows, type ListedState, rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { countRetryable, markForRetry } from '../../../src/db/ledger/rows-to-retry.ts'
import { statusCounts } from '../../../src/db/ledger/status-counts.ts'
import { traceRows } from '../../../src/db/trace/trace-rows.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { openLedger } from './ledger.ts'

const requires = { calculator_settings: ['properties'], framework_answers: ['properties'], properties: [] }

const ledger = await ofThisFile(openLedger())
beforeEach(async () => {
  await ledger.clear()
  const property = (partner_id: string) => ({ partner_id, content: { name: partner_id } })
  const answer = (partner_id: string) => ({
    partner_id,
    row_key: `${partner_id} answer`,
    content: { value: partner_id },
  })
  await ledger.landChecked('properties', [property('good')], true)
  await ledger.landChecked('properties', [property('refused'), property('bad'), property('lost'), property('whole')])
  await ledger.landChecked('framework_answers', ['good', 'refused', 'bad', 'lost', 'nobody'].map(answer))
  await outcome('refused', 'rejected', 'NotFound', 'No company like that', true)
  await outcome('lost', 'unknown', 'task_lost', 'the service no longer knows the task', false)
  await outcome('whole', 'rejected', 'forbidden', 'Not your group', false)
  await sql`update acceptance set invalid_reason = 'latitude 100 is not between -90 and 90'
            where row_id in (select row_id from source_row where stream = 'properties' and partner_id = 'bad')`.execute(
    ledger.db,
  )
})

/** What a settlement leaves of a property. */
async function outcome(partnerId: string, name: string, code: string, reason: string, keptOut: boolean): Promise<void> {
  await sql`
    update acceptance
    set outcome = ${name}, outcome_code = ${code}, outcome_reason = ${reason}, outcome_at = clock_timestamp(),
        refused_hash = case when ${keptOut} then wanted_hash end
    where row_id in (select row_id from source_row where stream = 'properties' and partner_id = ${partnerId})`.execute(
    ledger.db,
  )
}

const listed = async (state: ListedState, filter: RowFilter = {}) =>
  await rowsInState(ledger.db, state, { requires, filter, limit: 100 })
const ids = async (state: ListedState, filter: RowFilter = {}) =>
  (await listed(state, filter)).map(({ partner_id }) => partner_id).sort()

describe('a row', () => {
  it.each<[ListedState, string[]]>([
    ['rejected', ['refused', 'whole']],
    ['invalid', ['bad']],
    ['unknown', ['lost']],
    ['parked', ['bad', 'lost', 'nobody', 'refused']],
  ])('a row is listed as %s where it stands so, and nowhere else', async (state, expected) => {
    expect(await ids(state)).toEqual(expected)
  })

  it('a row is counted by status where it is listed', async () => {
    const counts = await statusCounts(ledger.db, requires)
    for (const state of ['rejected', 'invalid', 'unknown', 'parked'] as const) {
      expect(
        counts.reduce((sum, stream) => sum + stream[state], 0),
        state,
      ).toBe((await ids(state)).length)
    }
  })

  it('a row is not listed any more once its content has changed since it was rejected', async () => {
    await ledger.landChecked('properties', [{ partner_id: 'refused', content: { name: 'another' } }])
    expect(await ids('rejected')).toEqual(['whole'])
  })

  it.each([
    ['nobody', /^it requires properties of nobody, and the partner's database has delivered none$/],
    [
      'refused',
      /^its properties row was rejected by the service \(NotFound: No company like that\): fix that one, or retry/,
    ],
    ['bad', /^its properties row is invalid \(latitude 100 is not between -90 and 90\): fix that one$/],
    ['lost', /^nobody knows what became of its properties row \(task_lost: .*\); the next run sends that one again$/],
  ])('a row that is parked over %s says what it waits for, and what would release it', async (partnerId, words) => {
    expect((await listed('parked', { partnerId })).map(({ reason }) => reason)).toEqual([expect.stringMatching(words)])
  })

  it.each<[ListedState, RowFilter, string[]]>([
    ['rejected', { reason: 'notfound' }, ['refused']],
    ['rejected', { reason: 'YOUR group' }, ['whole']],
    ['rejected', { reason: '%' }, []],
    ['rejected', { partnerId: 'refused' }, ['refused']],
    ['rejected', { stream: 'framework_answers' }, []],
    ['rejected', { since: new Date('2100-01-01') }, []],
    ['rejected', { since: new Date('2001-01-01'), reason: 'like that', stream: 'properties' }, ['refused']],
    ['parked', { reason: 'requires_missing' }, ['nobody']],
    ['parked', { reason: 'latitude' }, ['bad']],
    ['invalid', { reason: 'latitude' }, ['bad']],
  ])('%s is found by %j', async (state, filter, expected) => {
    expect(await ids(state, filter)).toEqual(expected)
  })
})

describe('parked rows', () => {
  it('parked rows name what is wrong with the row that they wait for now, not what was said of an earlier content', async () => {
    const reasons = async (partnerId: string) => [
      (await listed('parked', { partnerId })).map(({ reason }) => reason),
      (await causesOfRows(ledger.db, 'parked', { requires, filter: { partnerId }, limit: 10 })).map(
        ({ reason }) => reason,
      ),
      (await traceRows(ledger.db, partnerId, requires, []))
        .filter(({ stream }) => stream === 'framework_answers')
        .map(({ reason }) => reason),
    ]
    await ledger.landChecked('properties', [{ partner_id: 'refused', content: { name: 'another' } }])
    const pending = 'its properties row is pending; the next run sends that one first'
    expect(await reasons('refused')).toEqual([[pending], ['properties'], [pending]])
    await sql`update acceptance set invalid_reason = 'latitude 95 is too high'
              where row_id in (select row_id from source_row where stream = 'properties' and partner_id = 'refused')`.execute(
      ledger.db,
    )
    const invalid = 'its properties row is invalid (latitude 95 is too high): fix that one'
    expect(await reasons('refused')).toEqual([[invalid], ['properties latitude 95 is too high'], [invalid]])
    expect(await ids('parked', { reason: 'NotFound' })).toEqual([])
    expect(await reasons('lost')).toMatchObject([
      [expect.stringContaining('(task_lost: the service')],
      ['properties task_lost the service no longer knows the task'],
      [expect.stringContaining('(task_lost: the service')],
    ])
  })

  const groupsOf = (filter: RowFilter = {}, limit = 100) => parkedGroups(ledger.db, requires, filter, limit, 'short')

  it('parked rows are grouped by hotel and by what they wait for, with as many rows as are listed', async () => {
    const second = { partner_id: 'nobody', row_key: 'another', content: {} }
    await ledger.landChecked('framework_answers', [second])
    const rows = await listed('parked')
    const { groups, total } = await groupsOf()
    expect(total).toEqual({ rows: rows.length, hotels: groups.length, groups: groups.length })
    expect(groups.reduce((sum, group) => sum + group.rows, 0)).toBe(rows.length)
    for (const { partner_id, reason, code } of some(groups)) {
      const alike = rows.filter((row) => row.partner_id === partner_id)
      expect(new Set(alike.map((row) => row.reason))).toEqual(new Set([reason]))
      expect(new Set(alike.map((row) => row.code))).toEqual(new Set([code]))
    }
  })

  it('parked rows are counted in whole though only some groups are wanted, and narrowed down like rows', async () => {
    const all = await groupsOf()
    expect(await groupsOf({}, 1)).toEqual({ groups: all.groups.slice(0, 1), total: all.total })
    expect((await groupsOf({ reason: 'requires_missing' })).groups.map(({ partner_id }) => partner_id)).toEqual([
      'nobody',
    ])
    expect(await groupsOf({ partnerId: 'good' })).toEqual({ groups: [], total: { rows: 0, hotels: 0, groups: 0 } })
  })
})

describe('a retry', () => {
  const mark = (filter: RowFilter = {}) =>
    ledger.inTransaction(async (trx) => {
      const actor = { user: 'anna', host: 'ferry1' }
      const id = await recordAction(trx, { verb: 'retry', actor, at: new Date(), rows: 0 })
      return await markForRetry(trx, id, streamNames, filter)
    })
  const refused = () => ledger.row('properties', 'refused')

  it('marks what the service rejected as it is, and what the next run sends by itself it leaves alone', async () => {
    expect(await countRetryable(ledger.db, streamNames, {})).toEqual([{ stream: 'properties', rows: 1, suspended: 0 }])
    expect(await mark()).toEqual([{ stream: 'properties', rows: 1, suspended: 0 }])
    expect((await refused()).retry_action).not.toBeNull()
    expect(await mark(), 'nothing is marked twice').toEqual([])
  })

  it('leaves the row rejected until a run begins, which makes it ready once', async () => {
    await mark()
    expect((await refused()).refused_hash).not.toBeNull()
    expect(await releaseRetries(ledger.db, streamNames)).toBe(1)
    expect(await refused()).toMatchObject({ refused_hash: null, retry_action: null })
    expect(await releaseRetries(ledger.db, streamNames)).toBe(0)
  })

  it.each([
    ['is invalid by now', sql`update acceptance set invalid_reason = 'wrong'`],
    [
      'is on its way',
      sql`
        with carried as (
          insert into submission_row (row_id, submission_id)
          select row_id, (select max(submission_id) from submission) from acceptance
        )
        insert into held_property (partner_id, stream, submission_id)
        select partner_id, 'properties', (select max(submission_id) from submission) from acceptance`,
    ],
    ['has changed since', sql`update acceptance set wanted_hash = '\\x00'`],
    ['is accepted', sql`update acceptance set accepted_hash = wanted_hash`],
  ])('does not touch a row that %s', async (_, change) => {
    await ledger.startRun()
    await sql`insert into submission (run_id, kind, state, row_count) select max(run_id), 'companies', 'planned', 0 from run`.execute(
      ledger.db,
    )
    await sql`
      ${change}
      where row_id in (select row_id from source_row where stream = 'properties' and partner_id = 'refused')`.execute(
      ledger.db,
    )
    await sql`
      update source_row set desired_hash = wanted_hash
      from acceptance where acceptance.row_id = source_row.row_id and desired_hash <> wanted_hash`.execute(ledger.db)
    expect(await mark()).toEqual([])
  })
})

describe('what a row said before', () => {
  const past = async () =>
    (await ledger.db.selectFrom('row_change').select('content_before').orderBy('changed_at').execute()).map(
      ({ content_before }) => content_before,
    )

  it('what a row said before is kept when its content changes, and only then', async () => {
    const as = (name: string) => [{ partner_id: 'good', content: { name } }]
    await ledger.land('properties', as('good'))
    expect(await past()).toEqual([])
    await ledger.land('properties', as('better'))
    await ledger.land('properties', as('best'))
    expect(await past()).toEqual([{ name: 'good' }, { name: 'better' }])
  })
})
