import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { recordAction } from '../../../src/db/actions/record-action.ts'
import {
  countLeftOut,
  countResendable,
  isSentAgain,
  markForResend,
  releaseResends,
  releaseRetries,
  resendableRows,
} from '../../../src/db/ledger/rows-again.ts'
import { countRetryable, markForRetry, releaseByPolicy, retryableRows } from '../../../src/db/ledger/rows-to-retry.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
beforeEach(() => ledger.clear())

const requires = { framework_answers: ['companies'], companies: ['properties'], properties: [], omissions: [] }

/** Of two hotels each has an accepted property, an answer and an omission that the service rejected. */
async function rejectedDependents(): Promise<void> {
  for (const partner_id of ['H-1', 'H-2']) {
    await ledger.landChecked('properties', [{ partner_id, content: {} }])
    for (const stream of ['framework_answers', 'omissions'] as const) {
      await ledger.landChecked(stream, [{ partner_id, row_key: `${stream} ${partner_id}`, content: {} }])
    }
  }
  await sql`
    update acceptance set accepted_hash = wanted_hash
    where row_id in (select row_id from source_row where stream = 'properties')`.execute(ledger.db)
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_code = 'NotFound'
    where accepted_hash is null`.execute(ledger.db)
}

type Filter = Parameters<typeof markForResend>[3]

async function resend(filter: Filter): Promise<number> {
  await mark(filter)
  return await releaseResends(ledger.db, requires, streamNames)
}

async function mark(filter: Filter, verb: 'resend' | 'retry' = 'resend', carried: readonly string[] = streamNames) {
  const actor = { user: 'somebody', host: 'here' }
  await ledger.inTransaction(async (trx) => {
    const actionId = await recordAction(trx, { verb, actor, at: new Date(), rows: 0, asked: {} })
    await (verb === 'resend' ? markForResend(trx, actionId, carried, filter) : markForRetry(trx, actionId, carried, {}))
  })
}

const rejected = async () => {
  const rows = await ledger.db
    .selectFrom('ledger')
    .select('row_key')
    .where('refused_hash', 'is not', null)
    .orderBy('row_key')
    .execute()
  return rows.map(({ row_key }) => row_key)
}

it('a resend tries again what was rejected of the rows that require a row which is sent again, also by way of others', async () => {
  await rejectedDependents()
  expect(await resend({ partnerId: 'H-1' })).toBe(1)
  expect(await rejected()).toEqual(['framework_answers H-2', 'omissions H-1', 'omissions H-2'])
  expect(await ledger.row('framework_answers', 'framework_answers H-1')).toMatchObject({
    outcome: null,
    outcome_code: 'tried_again',
    outcome_reason: 'what it requires of properties is sent again, so it is tried again',
  })
})

it('a resend lets it be known of a row that it tries again that the service may hold it', async () => {
  await rejectedDependents()
  await sql`update acceptance set perhaps_taken_at = clock_timestamp() where refused_hash is not null`.execute(
    ledger.db,
  )
  await resend({ partnerId: 'H-1' })
  expect(await ledger.row('framework_answers', 'framework_answers H-1')).toMatchObject({
    outcome_code: 'tried_again',
    perhaps_taken_at: expect.any(Date),
    refused_hash: null,
  })
})

it('a resend leaves rejected what requires nothing that is sent again', async () => {
  await rejectedDependents()
  expect(await releaseResends(ledger.db, requires, streamNames)).toBe(0)
  expect(await rejected()).toHaveLength(4)
})

it('a resend that is asked for while a run releases what was asked for before waits for the next run', async () => {
  await rejectedDependents()
  expect(await releaseResends(ledger.db, requires, streamNames)).toBe(0)
  await mark({ partnerId: 'H-1' })
  expect(await releaseRetries(ledger.db, streamNames)).toBe(0)
  expect((await ledger.row('properties', 'H-1')).retry_action).not.toBeNull()
  expect(await releaseResends(ledger.db, requires, streamNames)).toBe(1)
  expect(await ledger.row('properties', 'H-1')).toMatchObject({ accepted_hash: null, retry_action: null })
})

it.each<[string, object, boolean]>([
  ['is gone by then', { gone_at: new Date() }, false],
  ['is held by the guard by then', { guard_run: 1, guard_change: 'gone' }, true],
])('a resend of a row that %s forgets nothing, and leaves what requires it as it is', async (_, change, marked) => {
  await rejectedDependents()
  await mark({ stream: 'properties' })
  await changeProperty(change)
  expect(await releaseResends(ledger.db, requires, streamNames), 'the other hotel').toBe(1)
  const row = await ledger.row('properties', 'H-1')
  expect({ pending: row.pending, marked: row.retry_action !== null }).toEqual({ pending: false, marked })
  expect(row.accepted_hash).not.toBeNull()
  expect(await rejected()).toEqual(['framework_answers H-1', 'omissions H-1', 'omissions H-2'])
})

it('a resend of a row that the guard held is made once the guard lets the row go', async () => {
  await rejectedDependents()
  await mark({ partnerId: 'H-1' })
  await changeProperty({ guard_run: 1, guard_change: 'gone' })
  expect(await releaseResends(ledger.db, requires, streamNames)).toBe(0)
  expect(await releaseRetries(ledger.db, streamNames)).toBe(0)
  await changeProperty({ guard_run: null, guard_change: null })
  expect(await releaseResends(ledger.db, requires, streamNames)).toBe(1)
  expect(await ledger.row('properties', 'H-1')).toMatchObject({ pending: true, outcome_code: 'sent_again' })
})

async function changeProperty(change: object): Promise<void> {
  await ledger.db
    .updateTable('source_row')
    .set(change)
    .where('stream', '=', 'properties')
    .where('partner_id', '=', 'H-1')
    .execute()
}

const accepted = { partner_id: 'H-1', content: { name: 'accepted' } }
const changed = { partner_id: 'H-1', content: { name: 'changed' } }
const property = () => ledger.row('properties', 'H-1')

/** What the beginning of a run releases. @returns how many rows of each. */
const released = async () => [
  await releaseResends(ledger.db, requires, streamNames),
  await releaseRetries(ledger.db, streamNames),
]

const accept = async () => {
  await ledger.landChecked('properties', [accepted], true)
  await sql`update acceptance set accepted_at = clock_timestamp(), outcome = 'confirmed'`.execute(ledger.db)
}

const refuse = async () =>
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_code = 'NotFound'`.execute(
    ledger.db,
  )

describe('a mark of a row that changes and is not sent as it is', () => {
  beforeEach(accept)

  it.each<[string, string, () => Promise<unknown>]>([
    ['the guard holds', 'sent_again', () => changeProperty({ guard_run: 1, guard_change: 'changed' })],
    ['is invalid', 'sent_again', () => sql`update acceptance set invalid_reason = 'no number'`.execute(ledger.db)],
    ['the service rejects', 'NotFound', async () => [await released(), await refuse()]],
  ])('a resend of a row is made although the row becomes for a night what %s', async (_, outcome_code, keepBack) => {
    await mark({ partnerId: 'H-1' })
    await ledger.landChecked('properties', [changed])
    await keepBack()
    await released()
    await ledger.landChecked('properties', [accepted])
    expect((await property()).guard_run).toBeNull()
    await released()
    const row = await property()
    expect(row).toMatchObject({ pending: true, retry_action: null, outcome_code })
    expect(row.accepted_at).not.toBeNull()
  })

  it('a resend of a row that the guard holds changed keeps its mark, and the row is no less accepted', async () => {
    await mark({ partnerId: 'H-1' })
    const { accepted_hash } = await property()
    await ledger.landChecked('properties', [changed])
    await changeProperty({ guard_run: 1, guard_change: 'changed' })
    expect(await released()).toEqual([0, 0])
    const row = await property()
    expect(row.accepted_hash).toEqual(accepted_hash)
    expect(row.retry_action).not.toBeNull()
    await changeProperty({ guard_run: null, guard_change: null })
    expect(await released()).toEqual([1, 0])
    expect(await property()).toMatchObject({ pending: true, accepted_hash: null, retry_action: null })
  })

  it('a row that changed since its resend was asked for is compared with others like any that changed', async () => {
    await mark({ partnerId: 'H-1' })
    await ledger.landChecked('properties', [changed])
    expect(await released()).toEqual([1, 0])
    const { rows } = await sql`select from ledger row where ${isSentAgain(sql`row`)}`.execute(ledger.db)
    expect(rows).toEqual([])
  })

  it('a retry of a change that is taken back sends nothing, and its mark is gone', async () => {
    await ledger.landChecked('properties', [changed])
    await refuse()
    await mark({}, 'retry')
    expect((await property()).retry_action).not.toBeNull()
    await ledger.landChecked('properties', [accepted])
    expect(await released()).toEqual([0, 0])
    expect(await property()).toMatchObject({ pending: false, retry_action: null, outcome_code: 'NotFound' })
    await ledger.landChecked('properties', [changed])
    expect(await countRetryable(ledger.db, streamNames, {}), 'nobody has asked for it since').toEqual([
      { stream: 'properties', rows: 1, suspended: 0 },
    ])
  })

  it('a retry of a row that has changed once more lets it go, also while the guard holds it', async () => {
    await ledger.landChecked('properties', [changed])
    await refuse()
    await mark({}, 'retry')
    await ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'other' } }])
    await changeProperty({ guard_run: 1, guard_change: 'changed' })
    expect(await released()).toEqual([0, 1])
    const { accepted_hash, ...row } = await property()
    expect(row).toMatchObject({ retry_action: null, refused_hash: null })
    expect(accepted_hash).not.toBeNull()
  })
})

describe('a row whose newest content the service does not have when a resend is asked for', () => {
  beforeEach(accept)

  it.each<[string, () => Promise<unknown>]>([
    ['was rejected', refuse],
    ['is invalid', () => sql`update acceptance set invalid_reason = 'no number'`.execute(ledger.db)],
    ['waits', () => Promise.resolve()],
    ['is held by the guard', () => changeProperty({ guard_run: 1, guard_change: 'changed' })],
  ])(
    'a resend of a row that changed and %s sends what was accepted once the change is taken back',
    async (_, stand) => {
      await ledger.landChecked('properties', [changed])
      await stand()
      await mark({})
      await ledger.landChecked('properties', [accepted])
      await changeProperty({ guard_run: null, guard_change: null })
      expect(await released()).toEqual([1, 0])
      expect(await property()).toMatchObject({ pending: true, outcome_code: 'sent_again', retry_action: null })
    },
  )

  it('a resend of a row that the guard holds as gone sends it once it is there again', async () => {
    await changeProperty({ guard_run: 1, guard_change: 'gone' })
    await mark({})
    expect(await released()).toEqual([0, 0])
    await changeProperty({ guard_run: null, guard_change: null })
    expect(await released()).toEqual([1, 0])
  })

  it('a resend of a rejected change tries it once more, and sends what was accepted if it is rejected again', async () => {
    await ledger.landChecked('properties', [changed])
    await refuse()
    await mark({})
    expect(await released()).toEqual([1, 0])
    expect(await property()).toMatchObject({ refused_hash: null, accepted_hash: null })
    await refuse()
    await ledger.landChecked('properties', [accepted])
    expect((await property()).pending).toBe(true)
  })

  it('a resend takes the place of a retry, and a retry not that of a resend', async () => {
    await ledger.landChecked('properties', [changed])
    await refuse()
    await mark({}, 'retry')
    const { retry_action } = await property()
    await mark({})
    const later = (await property()).retry_action
    expect(later).not.toEqual(retry_action)
    await mark({}, 'retry')
    expect((await property()).retry_action).toEqual(later)
    await ledger.landChecked('properties', [accepted])
    expect(await released()).toEqual([1, 0])
  })

  it('a resend of what a comparison found otherwise leaves out a row that has changed since', async () => {
    await ledger.landChecked('properties', [changed])
    await mark({ difference: 'any' })
    expect((await property()).retry_action).toBeNull()
  })
})

describe('a stream that was taken out of the configuration', () => {
  const others = streamNames.filter((stream) => stream !== 'properties')
  beforeEach(accept)

  it('a resend marks nothing of a stream that no run sends', async () => {
    await mark({}, 'resend', others)
    expect((await property()).retry_action).toBeNull()
    expect(await countResendable(ledger.db, others, {})).toEqual([])
    expect(await resendableRows(ledger.db, others, {}, 10)).toEqual([])
    expect(await countLeftOut(ledger.db, others, {})).toEqual({ unjudged: 0, mixed: 0, unconfigured: 1 })
    expect(await countLeftOut(ledger.db, streamNames, {})).toMatchObject({ unconfigured: 0 })
  })

  it('a run forgets nothing as accepted of a stream that it does not send, and a later one that does keeps the mark', async () => {
    await mark({})
    expect(await releaseResends(ledger.db, requires, others)).toBe(0)
    expect(await releaseRetries(ledger.db, streamNames)).toBe(0)
    const { accepted_hash, retry_action } = await property()
    expect(accepted_hash).not.toBeNull()
    expect(retry_action).not.toBeNull()
    expect(await released()).toEqual([1, 0])
  })

  it('a retry marks nothing of a stream that no run sends, and a run that does not send it leaves a mark to a later one', async () => {
    await ledger.landChecked('properties', [changed])
    await refuse()
    await mark({}, 'retry', others)
    expect((await property()).retry_action).toBeNull()
    expect(await countRetryable(ledger.db, others, {})).toEqual([])
    expect(await retryableRows(ledger.db, others, {}, 10)).toEqual([])
    await mark({}, 'retry')
    expect(await releaseRetries(ledger.db, others)).toBe(0)
    const { refused_hash, retry_action } = await property()
    expect(refused_hash).not.toBeNull()
    expect(retry_action).not.toBeNull()
    expect(await released()).toEqual([0, 1])
  })

  it('a policy sends nothing again of a stream that no run sends', async () => {
    await ledger.landChecked('properties', [changed])
    await refuse()
    const policies = [{ stream: null, code: 'NotFound', after_ms: 0, times: null }]
    await sql`update acceptance set outcome_at = clock_timestamp()`.execute(ledger.db)
    expect(await releaseByPolicy(ledger.db, others, policies, new Date())).toBe(0)
    expect((await property()).refused_hash).not.toBeNull()
    expect(await releaseByPolicy(ledger.db, streamNames, policies, new Date())).toBe(1)
  })
})
