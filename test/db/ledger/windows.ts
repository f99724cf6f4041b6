import { randomUUID } from 'node:crypto'
import { considerEnded } from '../../../src/db/ledger/candidates.ts'
import { type Landing, type Ledger, openLedger } from './ledger.ts'

/** Answers of a hotel within one framework. */
export const answersOf = (partner_id: string, count: number, framework_id = 'f1'): Landing[] =>
  Array.from({ length: count }, (_, index) => ({
    partner_id,
    row_key: `${partner_id} ${framework_id} ${index}`,
    content: { framework_id, value: String(index) },
  }))

const kinds = [
  { kind: 'company_mappings', streams: ['properties'] },
  { kind: 'framework_answers', streams: ['framework_answers', 'omissions'] },
]

/** A ledger with a run in it that plans in windows. */
export async function openWindows() {
  const ledger = await openLedger()
  let run = 0
  /** Has the planner see what ended. */
  const seeEnded = () =>
    ledger.inTransaction((trx) => considerEnded(trx, run, kinds, { framework_answers: ['properties'] }))
  return {
    ledger,
    run: () => run,
    /** Empties the ledger and begins another run. */
    begin: async () => {
      await ledger.clear()
      run = await ledger.startRun()
    },
    cut: (options: Parameters<Ledger['plan']>[1] = {}) => ledger.plan(run, { sweep: false, requests: 2, ...options }),
    considerEnded: seeEnded,
    /** Settles a submission, and has the planner see that it ended. */
    end: async (id: number, outcome = 'inferred', keepOut = true) => {
      await ledger.settleAll(id, outcome, 'settled', keepOut)
      await seeEnded()
    },
    /** Maps partner ids to one company. */
    sameCompany: async (...partnerIds: string[]) => {
      const { submission_id } = await ledger.db
        .insertInto('submission')
        .values({ run_id: run, kind: 'company_mappings', state: 'settled', row_count: 0 } as never)
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      const company_id = randomUUID()
      await ledger.db
        .insertInto('mapping')
        .values(partnerIds.map((partner_id) => ({ partner_id, company_id, submission_id })))
        .execute()
    },
  }
}
