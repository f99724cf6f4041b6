import { afterAll, beforeEach } from 'vitest'
import type { NamedError } from '../../../src/db/ledger/error-outcomes.ts'
import { type Landing, type Ledger, openLedger } from './ledger.ts'

export const company = '0b6c2f4e-0000-4000-8000-00000000000a'
export const otherCompany = '0b6c2f4e-0000-4000-8000-00000000000b'
export const dataPoint = 'AA6c2f4e-0000-4000-8000-000000000001'
export const otherPoint = 'bb6c2f4e-0000-4000-8000-000000000002'

export const answersKind = { streams: ['framework_answers', 'omissions'], partitionBy: 'framework_id' }
export const mappingKind = { kind: 'company_mappings', streams: ['properties'], partitionBy: null }

/** An error row that names nothing. */
export const blankError: NamedError = {
  company_id: null,
  partner_id: null,
  data_point_id: null,
  question_id: null,
  property_id: null,
  standard_id: null,
  field_type_id: null,
  period_type: null,
  year: null,
  month: null,
  code: 'OutOfRange',
  reason: 'Too much.',
  why: null,
}

/** A ledger for the tests of one file, empty before each of them, and what they say of rows that were sent. */
export async function rowsInFlight() {
  const ledger: Ledger = await openLedger()
  let run: number
  beforeEach(async () => {
    await ledger.clear()
    run = await ledger.startRun()
  })
  afterAll(() => ledger.close())
  return {
    ledger,
    /** The run of the test. */
    runOf: () => run,
    /** Rows on their way: planned in one submission, and sent. */
    sent: async (stream: string, rows: Landing[], kind: object = answersKind): Promise<number> => {
      await ledger.landChecked(stream, rows)
      const [id, ...more] = await ledger.plan(run, kind)
      if (id === undefined || more.length > 0)
        throw new Error(`one submission was expected, there are ${more.length + 1}`)
      await ledger.markSent(id)
      return id
    },
    outcomeOf: async (stream: string, key: string) => {
      const { outcome, outcome_code, outcome_reason } = await ledger.row(stream, key)
      return [outcome, outcome_code, outcome_reason]
    },
    unmatchedOf: async (id: number) => {
      const { unmatched } = await ledger.db
        .selectFrom('submission')
        .select('unmatched')
        .where('submission_id', '=', id)
        .executeTakeFirstOrThrow()
      return unmatched
    },
    map: async (partnerId: string, companyId: string): Promise<void> => {
      const { submission_id } = await ledger.db
        .insertInto('submission')
        .values({ run_id: run, kind: 'company_mappings', state: 'settled', row_count: 1 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      await ledger.db
        .insertInto('mapping')
        .values({ partner_id: partnerId, company_id: companyId, submission_id })
        .execute()
    },
  }
}
