import { type RawBuilder, sql } from 'kysely'
import type { QueryPlan } from './dialect.ts'
import type { MysqlSession } from './mysql-session.ts'

/**
 * What the server would do with a statement. A small table is read whole although it has an index, so those indexes are
 * looked at that it could use: what the condition on the cursor adds to them serves the cursor.
 *
 * @param whole reads all rows.
 * @param delta reads those past a watermark; null where that is not asked.
 */
export async function explainMysql(
  session: MysqlSession,
  whole: RawBuilder<unknown>,
  delta: RawBuilder<unknown> | null,
): Promise<QueryPlan> {
  const steps = await stepsOf(session, whole)
  const cost = await session.ask(sql`show session status like 'Last_query_cost'`)
  const price = Number(cost.rows[0]?.[1] ?? 0)
  const rows = steps.length === 0 ? null : steps.reduce((product, step) => product * step.rows, 1)
  const about = { rows, cost: price > 0 ? price : null }
  if (delta === null) return { ...about, indexed: null }
  const before = new Set(steps.flatMap(({ usable }) => usable))
  const past = await stepsOf(session, delta)
  return { ...about, indexed: past.some(({ usable }) => usable.some((index) => !before.has(index))) }
}

type Step = { rows: number; usable: string[] }

async function stepsOf(session: MysqlSession, statement: RawBuilder<unknown>): Promise<Step[]> {
  const { fields, rows } = await session.ask(sql`explain ${statement}`)
  const at = (row: readonly (string | null)[], name: string) =>
    row[fields.findIndex((field) => field.name.toLowerCase() === name)] ?? null
  return rows.map((row) => ({
    rows: Number(at(row, 'rows') ?? 1),
    usable: (at(row, 'possible_keys') ?? '')
      .split(',')
      .filter((index) => index !== '')
      .map((index) => `${at(row, 'table')}.${index}`),
  }))
}
