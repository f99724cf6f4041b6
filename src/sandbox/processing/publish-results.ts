import { hash } from 'node:crypto'
import type pg from 'pg'
import type { CompanyCalculators } from './calculator-state.ts'
import type { Values } from './compute-outputs.ts'

/**
 * Marks a company's results as published, where they differ from what was published last, and gives the calculators
 * that have them. Results that a calculator no longer has are withdrawn.
 *
 * Spec gap: what publishing does is not shown, docs/spec-gaps.md. Here it shows in the request's report.
 */
export function publishResults(company: CompanyCalculators): string[] {
  const differing: string[] = []
  for (const calculator of company.byKey.values()) {
    const before = calculator.published
    calculator.published = digestOf(calculator.outputs)
    if (calculator.published !== null && calculator.published !== before) differing.push(calculator.id)
  }
  return differing
}

/** As the schema makes it of results that were published in worlds of before. */
function digestOf(outputs: Values): string | null {
  const entries = Object.entries(outputs)
  if (entries.length === 0) return null
  const lines = entries.map(([id, value]) => `${id} ${value}`).toSorted()
  return hash('sha256', lines.join('\n'), 'base64')
}

/** Notes which calculators' results the task published, by company. */
export async function notePublished(
  client: pg.PoolClient,
  taskId: string,
  published: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const noted = [...published].filter(([, calculatorIds]) => calculatorIds.length > 0)
  if (noted.length === 0) return
  await client.query(
    `insert into sandbox.published_by_task as earlier (task_id, company_id, calculator_ids)
     select $1, company_id, calculator_ids::uuid[]
     from unnest($2::uuid[], $3::text[]) as noted (company_id, calculator_ids)
     on conflict (task_id, company_id) do update
       set calculator_ids = earlier.calculator_ids || excluded.calculator_ids`,
    [taskId, noted.map(([companyId]) => companyId), noted.map(([, calculatorIds]) => `{${calculatorIds.join(',')}}`)],
  )
}

/** The calculators that the task published results of, by company. */
export async function readPublished(
  db: Pick<pg.Pool, 'query'>,
  taskId: string,
  companyIds: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ company_id: string; calculator_ids: string[] }>(
    `select company_id, array(select distinct unnest(calculator_ids) order by 1) as calculator_ids
     from sandbox.published_by_task where task_id = $1 and company_id = any($2)`,
    [taskId, companyIds],
  )
  return new Map(rows.map((row) => [row.company_id, row.calculator_ids]))
}
