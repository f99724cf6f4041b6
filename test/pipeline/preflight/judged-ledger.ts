import { sql } from 'kysely'
import { expect } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { type markForResend, releaseResends } from '../../../src/db/ledger/rows-again.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { judgeRows } from '../../../src/pipeline/preflight/preflight.ts'
import { keepReferenceData } from '../../../src/pipeline/reference/fetch-reference-data.ts'
import { storableDocuments } from '../../../src/pipeline/reference/store-reference-data.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { dataPoint, ids } from '../push/rows.ts'

const year = { period_type: 'Yearly', year: '2025', month: '1' }
export const energy = { ...year, data_point_id: ids.number, value: '1', unit_id: ids.unit }
export const declined = { ...year, question_id: ids.question }
export const row = (row_key: string, content: Record<string, unknown>, partner_id = 'H-1') => ({
  partner_id,
  row_key,
  content,
})

/** A ledger whose rows preflight judges. */
export type JudgedLedger = AsyncDisposable & {
  ferry: Ferry
  deps: Deps
  knowFramework(title?: string): Promise<void>
  judge(changed?: Partial<Deps>): ReturnType<typeof judgeRows>
  /** Why each row is invalid, by its key; all must be judged. */
  reasons(): Promise<Record<string, string | null>>
  /** The service took these rows as they are. */
  accept(...keys: string[]): Promise<void>
  /** A person has accepted rows sent again, and a run begins. */
  sendAgain(asked: Parameters<typeof markForResend>[3]): Promise<void>
  /** The hotels are one company. */
  mapTogether(...partnerIds: string[]): Promise<void>
}

export async function openJudgedLedger(): Promise<JudgedLedger> {
  const ferry = await openFerry()
  // Nothing is called there.
  const given = ferry.deps('http://127.0.0.1:9')
  const streams = Object.fromEntries(streamNames.map((name) => [name, given.config.streams.properties]))
  const deps = { ...given, config: { ...given.config, streams } }
  const { ledger } = ferry
  return {
    ferry,
    deps,
    knowFramework: async (title = 'Responsible Hotel') => {
      const framework = {
        id: ids.framework,
        title,
        questionIds: [ids.question],
        dataPoints: [dataPoint(ids.number), dataPoint(ids.list)],
        titles: {},
        raw: null,
      }
      const other = { ...framework, id: ids.otherFramework, title: 'Living Coast' }
      const known = { unit_type: [], group: [], custom_property: [], framework: [framework, other] }
      await ledger.inTransaction((trx) => keepReferenceData(deps, trx, storableDocuments(known), null))
    },
    judge: (changed = {}) => judgeRows({ ...deps, ...changed }, new Date()),
    reasons: async () => {
      const rows = await ledger.db.selectFrom('ledger').selectAll().orderBy('row_key').execute()
      const open = rows.filter((one) => one.accepted_hash === null && one.gone_at === null && one.checked_hash === null)
      expect(open).toEqual([])
      return Object.fromEntries(rows.map(({ row_key, invalid_reason }) => [row_key, invalid_reason]))
    },
    accept: async (...keys) => {
      await sql`
        update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp()
        where row_id in (select row_id from source_row where row_key = any(${keys}::text[]))`.execute(ledger.db)
    },
    sendAgain: async (asked) => {
      await ledger.askResend(asked)
      await releaseResends(ledger.db, {}, streamNames)
    },
    mapTogether: async (...partnerIds) => {
      const runId = await ledger.startRun()
      for (const partner_id of partnerIds) {
        await sql`
          with mapped as (
            insert into submission (run_id, kind, state, row_count) values (${runId}, 'company_mappings', 'settled', 1)
            returning submission_id
          )
          insert into mapping (partner_id, company_id, submission_id)
          select ${partner_id}, ${ids.company}, submission_id from mapped`.execute(ledger.db)
      }
    },
    [Symbol.asyncDispose]: async () => {
      await deps[Symbol.asyncDispose]()
      await ferry.close()
    },
  }
}
