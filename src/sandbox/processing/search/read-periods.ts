import { dataPointsOf, questionsOf } from '../../catalogue/frameworks.ts'
import type { Queryable } from '../../running-sandbox.ts'
import type { World } from '../../service-world.ts'
import type { Period } from '../judge-answer.ts'

/** What a company has reported of one period. */
export type FoundPeriod = Period & {
  /** The frameworks that are assigned to the company for the period. */
  frameworkIds: string[]
  answers: { dataPointId: string; value: unknown; unitId: string | null; changedAt: Date }[]
  omissions: { questionId: string; changedAt: Date }[]
}

type Key = Period & { companyId: string }

/**
 * The companies' periods in order, by company. With `frameworkIds`: only periods to which one of these is assigned,
 * these frameworks, and answers to data points and omissions of questions of these; empty: everything.
 */
export async function readPeriods(
  db: Queryable,
  world: World,
  companyIds: readonly string[],
  frameworkIds: readonly string[],
): Promise<Map<string, FoundPeriod[]>> {
  const all = frameworkIds.length === 0
  const frameworks = world.frameworks.filter(({ id }) => all || frameworkIds.includes(id))
  const byKey = new Map<string, Key & FoundPeriod>()
  const periodOf = ({ companyId, periodType, year, month }: Key) => {
    const key = `${companyId} ${periodType} ${year} ${month}`
    const period = byKey.get(key) ?? {
      ...{ companyId, periodType, year, month },
      ...{ frameworkIds: [], answers: [], omissions: [] },
    }
    byKey.set(key, period)
    return period
  }

  const assignments = await db.query<Key & { id: string }>(
    `select company_id as "companyId", period_type as "periodType", year, month, framework_id as id
     from sandbox.framework_assignment where company_id = any($1) and framework_id = any($2)
     order by company_id, framework_id`,
    [companyIds, frameworks.map(({ id }) => id)],
  )
  for (const row of assignments.rows) periodOf(row).frameworkIds.push(row.id)

  const answers = await db.query<Key & { id: string; value: unknown; unitId: string | null; changedAt: Date }>(
    `select company_id as "companyId", period_type as "periodType", year, month, data_point_id as id, value,
            unit_id as "unitId", changed_at as "changedAt"
     from sandbox.answer where company_id = any($1) and data_point_id = any($2)
     order by company_id, data_point_id`,
    [companyIds, frameworks.flatMap(dataPointsOf).map(({ id }) => id)],
  )
  for (const row of answers.rows) {
    periodOf(row).answers.push({ dataPointId: row.id, value: row.value, unitId: row.unitId, changedAt: row.changedAt })
  }

  const omissions = await db.query<Key & { id: string; changedAt: Date }>(
    `select company_id as "companyId", period_type as "periodType", year, month, question_id as id,
            changed_at as "changedAt"
     from sandbox.omission where company_id = any($1) and question_id = any($2)
     order by company_id, question_id`,
    [companyIds, frameworks.flatMap(questionsOf).map(({ id }) => id)],
  )
  for (const row of omissions.rows) periodOf(row).omissions.push({ questionId: row.id, changedAt: row.changedAt })

  const periods = [...byKey.values()].filter((period) => all || period.frameworkIds.length > 0).toSorted(inOrder)
  return Map.groupBy(periods, ({ companyId }) => companyId)
}

/** Newest year last; within a year the yearly period first. */
function inOrder(left: Period, right: Period): number {
  const rank = ({ periodType }: Period) => (periodType === 'Yearly' ? 0 : 1)
  return left.year - right.year || rank(left) - rank(right) || left.month - right.month
}
