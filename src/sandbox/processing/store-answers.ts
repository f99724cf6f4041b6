import type pg from 'pg'
import { inTransaction } from '../running-sandbox.ts'
import type { Period } from './judge-answer.ts'

type Row = { companyId: string; id: string; period: Period; value: string | null; unitId: string | null }

/** Rows to store, each once: of two that write the same thing, the later in the request counts. */
export type AnswerRows = {
  assign(companyId: string, period: Period): void
  answer(companyId: string, dataPointId: string, period: Period, value: unknown, unitId: string | null): void
  omit(companyId: string, questionId: string, period: Period): void
  readonly assignments: Map<string, Row>
  readonly answers: Map<string, Row>
  readonly omissions: Map<string, Row>
}

/** `frameworkId` null: the request assigns no framework. */
export function createRows(frameworkId: string | null): AnswerRows {
  const put = (rows: Map<string, Row>, row: Row) => {
    rows.set(`${row.companyId} ${row.id} ${row.period.periodType} ${row.period.year} ${row.period.month}`, row)
  }
  const assignments = new Map<string, Row>()
  const answers = new Map<string, Row>()
  const omissions = new Map<string, Row>()
  return {
    assignments,
    answers,
    omissions,
    assign: (companyId, period) => {
      if (frameworkId !== null) put(assignments, { companyId, id: frameworkId, period, value: null, unitId: null })
    },
    answer: (companyId, id, period, value, unitId) =>
      put(answers, { companyId, id, period, value: JSON.stringify(value), unitId }),
    omit: (companyId, id, period) => put(omissions, { companyId, id, period, value: null, unitId: null }),
  }
}

/**
 * Stores all rows in one transaction, in key order, so that parallel requests cannot block each other for good. `now`
 * is the service's time, of which pages say that it changed what they show then.
 */
export async function storeRows(pool: pg.Pool, rows: AnswerRows, now: Date): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(
      `insert into sandbox.framework_assignment (company_id, framework_id, period_type, year, month)
       select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[]) order by 1, 2, 3, 4, 5
       on conflict do nothing`,
      keyColumns(rows.assignments),
    )
    const answers = [...rows.answers.values()]
    await client.query(
      `insert into sandbox.answer (company_id, data_point_id, period_type, year, month, value, unit_id, changed_at)
       select *, $8::timestamptz
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[], $6::jsonb[], $7::uuid[])
       order by 1, 2, 3, 4, 5
       on conflict (company_id, data_point_id, period_type, year, month)
       do update set value = excluded.value, unit_id = excluded.unit_id, changed_at = excluded.changed_at`,
      [...keyColumns(rows.answers), answers.map((row) => row.value), answers.map((row) => row.unitId), now],
    )
    await client.query(
      `insert into sandbox.omission (company_id, question_id, period_type, year, month, changed_at)
       select *, $6::timestamptz
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[]) order by 1, 2, 3, 4, 5
       on conflict do nothing`,
      [...keyColumns(rows.omissions), now],
    )
  })
}

function keyColumns(rows: Map<string, Row>): unknown[] {
  const list = [...rows.values()]
  return [
    list.map((row) => row.companyId),
    list.map((row) => row.id),
    list.map((row) => row.period.periodType),
    list.map((row) => row.period.year),
    list.map((row) => row.period.month),
  ]
}
