import { sql } from 'kysely'
import { beginHistory } from '../../../src/pipeline/pull/merge/value-history.ts'
import type { FinishOptions } from '../../../src/pipeline/pull/search/whole-search.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, type SampleCompany, samplePage, uuid } from './sample-page.ts'
import { searchDatabase } from './search-database.ts'

type NightOptions = { history?: boolean; minSeenShare?: number; finish?: FinishOptions | false }

/** The part of an id that a line of the history shows. */
export const shortId = (name: string) => uuid(name).slice(0, 4)

/** A database with nights whose values keep their history, told as lines. */
export async function openHistory() {
  const database = await searchDatabase()
  const { db } = database
  /** When each night began and ended, by the clock of the database; times are read back as the night they lie in. */
  let nights: { from: Date; to: Date }[] = []

  const clock = async () => {
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
    return rows[0]?.now ?? new Date(Number.NaN)
  }

  /** One night: a search of these pages, ended unless `finish` is false. */
  async function night(
    pages: SampleCompany[][],
    { history = true, minSeenShare = 0, finish = {} }: NightOptions = {},
  ): Promise<void> {
    const from = await clock()
    const listed = await database.search(pages.length)
    const submissionId = listed[0]?.submission_id ?? 0
    await db.transaction().execute((trx) => beginHistory(trx, submissionId, history))
    const calculatorTypeIds = finish === false ? [] : [...(finish.calculatorTypeIds ?? [])]
    for (const [index, companies] of pages.entries()) {
      const page = listed[index]
      if (page !== undefined)
        await database.load(page, bodyOf(samplePage(companies)), { calculatorTypeIds, minSeenShare })
    }
    if (finish !== false) {
      const ended = await database.finish(submissionId, { minSeenShare: 0, ...finish })
      await db
        .updateTable('submission')
        .set({ search_result: JSON.stringify(ended) })
        .where('submission_id', '=', submissionId)
        .execute()
    }
    nights.push({ from, to: await clock() })
  }

  const nightOf = (at: Date | null) =>
    at === null ? null : nights.findIndex(({ from, to }) => at >= from && at <= to) + 1

  /**
   * The history, a line per value that ever stood: company, calculator, variable = value, first night–last night, end.
   */
  async function history(): Promise<string[]> {
    const rows = await db
      .selectFrom('calculator_value_history')
      .innerJoin('companies', 'companies.company_id', 'calculator_value_history.company_id')
      .selectAll('calculator_value_history')
      .select('companies.name')
      .execute()
    return rows
      .map((row) => {
        const [first, last, end] = [row.first_seen_at, row.last_seen_at, row.ended_at].map(nightOf)
        const until = end === null ? 'stands' : `until ${end}`
        return `${row.name} ${row.calculator_id.slice(0, 4)} ${row.variable_id}=${row.value} ${first ?? '?'}-${last ?? '?'} ${until}`
      })
      .sort()
  }

  /** What the night changed, a line each. */
  async function changes(): Promise<string[]> {
    const rows = await db
      .selectFrom('value_changes')
      .innerJoin('companies', 'companies.company_id', 'value_changes.company_id')
      .selectAll('value_changes')
      .select('companies.name')
      .orderBy('change_id')
      .execute()
    return rows.map(
      ({ name, variable_id, kind, before, after, changed_at }) =>
        `${nightOf(changed_at)} ${name} ${variable_id} ${kind} ${before ?? ''}>${after ?? ''}`,
    )
  }

  /** Forgets all nights. */
  const clear = async () => {
    nights = []
    await emptyTables(db, historyTables, true)
  }
  return { database, db, night, clock, history, changes, clear }
}

const historyTables = [...pulledTables, 'calculator_value_change', 'history_start', 'complete_search']
