import { randomBytes } from 'node:crypto'
import type { Transaction } from 'kysely'
import { expect, it } from 'vitest'
import { outcomesFromErrors } from '../../../src/db/ledger/error-outcomes.ts'
import { outcomesFromResultFile } from '../../../src/db/ledger/file-outcomes.ts'
import { type RowOutcome, settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import type { Schema } from '../../../src/db/tables/database-schema.ts'
import { blankError, mappingKind, rowsInFlight } from './rows-in-flight.ts'

const { ledger, outcomeOf, sent } = await rowsInFlight()

/** More than an index of PostgreSQL takes, and nothing that can be compressed. */
const sentence = `is no option; these are: ${randomBytes(4_000).toString('hex')}`

type Tells = (trx: Transaction<Schema>, id: number, reason: string | null) => Promise<RowOutcome>

const byErrorRow: Tells = async (trx, id, reason) => {
  // An error row without words of its own repeats its code (`namedError`).
  const error = { ...blankError, partner_id: 'H-1', code: sentence, reason: reason ?? sentence }
  return (await outcomesFromErrors(trx, id, [error], { outcome: 'inferred' })).rest
}
const byResultFile: Tells = async (trx, id, reason) => {
  const element = { submission_id: id, partner_id: 'H-1', accepted: false, company_id: null, field_errors: null }
  await trx
    .insertInto('staged_outcome')
    .values({ ...element, code: sentence, reason })
    .execute()
  return (await outcomesFromResultFile(trx, id, { mapping: true })).rest
}
const byRefusal: Tells = async (_trx, _id, reason) => ({
  outcome: 'rejected',
  code: sentence,
  reason: reason ?? sentence,
})

it.each<[string, string | null, Tells]>([
  ['an error row', null, byErrorRow],
  ['an error row', 'Look it up.', byErrorRow],
  ['an element of a result file', null, byResultFile],
  ['an element of a result file', 'Look it up.', byResultFile],
  ['the refusal of its request', null, byRefusal],
  ['the refusal of its request', 'Look it up.', byRefusal],
])(
  'a row is settled where %s rejects it with a sentence for a code, whose words go before the reason %j',
  async (_, reason, tells) => {
    const id = await sent('properties', [{ partner_id: 'H-1', content: { name: 'A' } }], mappingKind)
    await ledger.inTransaction((trx) => settleRows(trx, id, true, () => tells(trx, id, reason)))
    const words = reason === null ? sentence : `${sentence}: ${reason}`
    expect(await outcomeOf('properties', 'H-1')).toEqual(['rejected', sentence.slice(0, 200), words])
    expect((await ledger.row('properties', 'H-1')).refused_hash).not.toBeNull()
  },
)
