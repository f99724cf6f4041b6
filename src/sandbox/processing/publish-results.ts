import type pg from 'pg'

/**
 * Publishes the results of these companies' calculators where they differ from what was published last, and notes that
 * this task did. Results that a calculator no longer has are withdrawn. Call it in the transaction that computed them.
 *
 * Spec gap: what publishing does is not shown, docs/spec-gaps.md. Here it shows in the request's report.
 */
export async function publishResults(
  client: pg.PoolClient,
  taskId: string,
  companyIds: readonly string[],
): Promise<void> {
  if (companyIds.length === 0) return
  await client.query(
    `delete from sandbox.published_result published using sandbox.calculator
     where calculator.id = published.calculator_id and company_id = any($1) and calculator.outputs = '{}'`,
    [companyIds],
  )
  await client.query(
    `with published as (
       insert into sandbox.published_result as earlier (calculator_id, outputs)
       select id, outputs from sandbox.calculator where company_id = any($2) and outputs <> '{}' order by id
       on conflict (calculator_id) do update set outputs = excluded.outputs
         where earlier.outputs is distinct from excluded.outputs
       returning calculator_id
     )
     insert into sandbox.publication (task_id, company_id, calculator_id)
     select $1::uuid, company_id, calculator_id from published join sandbox.calculator on id = calculator_id
     on conflict do nothing`,
    [taskId, companyIds],
  )
}

/** The calculators that the task published results of, by company. */
export async function readPublished(
  db: Pick<pg.Pool, 'query'>,
  taskId: string,
  companyIds: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ company_id: string; calculator_ids: string[] }>(
    `select company_id, array_agg(calculator_id order by calculator_id) as calculator_ids
     from sandbox.publication where task_id = $1 and company_id = any($2) group by company_id`,
    [taskId, companyIds],
  )
  return new Map(rows.map((row) => [row.company_id, row.calculator_ids]))
}
