import type pg from 'pg'
import type { QueryPlan } from './dialect.ts'

/** A value past every row, by which the condition on the cursor is found in a plan; by the number of a type. */
const farAhead: Readonly<Record<number, string>> = {
  ...Object.fromEntries([1082, 1114, 1184].map((time) => [time, '9999-12-01'])),
  ...Object.fromEntries([20, 23, 700, 701, 1700].map((number) => [number, '1999912'])),
  21: '29912',
  ...Object.fromEntries([25, 1042, 1043].map((text) => [text, '~9912~'])),
}

/** The watermark to ask a plan for; null for a type of which none is known. */
export function markerOf(cursorType: number | undefined): string | null {
  return farAhead[cursorType ?? 0] ?? null
}

type Node = { Plans?: Node[]; 'Plan Rows'?: number; 'Total Cost'?: number } & Record<string, unknown>

/**
 * What the server would do with a statement. A small table is read whole although it has an index, so the index is
 * looked for with other ways priced out of the question: if it is not used even then, it is none that serves.
 *
 * @param whole reads all rows.
 * @param delta reads those past `marker`; null where that is not asked.
 */
export async function explainPostgres(
  client: pg.Client,
  whole: string,
  delta: { text: string; values: unknown[]; marker: string } | null,
): Promise<QueryPlan> {
  const plan = await explained(client, whole, [])
  const about = { rows: plan['Plan Rows'] ?? null, cost: plan['Total Cost'] ?? null }
  if (delta === null) return { ...about, indexed: null }
  let indexed = false
  for (const ways of dearWays) {
    for (const way of ways) await client.query(`set local ${way} = off`)
    indexed ||= searchesBy(await explained(client, delta.text, delta.values), delta.marker)
    for (const way of ways) await client.query(`set local ${way} to default`)
  }
  return { ...about, indexed }
}

/**
 * What is priced out of the question. Of a small table the server may also read another index from end to end, or look
 * its rows up one by one for those of a joined table; what is left then is a search by the condition itself.
 */
const dearWays = [
  ['enable_seqscan'],
  ['enable_seqscan', 'enable_indexscan', 'enable_indexonlyscan', 'enable_nestloop'],
] as const

async function explained(client: pg.Client, text: string, values: unknown[]): Promise<Node> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (format json) ${text}`, values)
  const [found] = JSON.parse(rows[0]?.['QUERY PLAN'] ?? '[]') as { Plan: Node }[]
  if (found === undefined) throw new Error('the server gave no plan')
  return found.Plan
}

/** Whether an index is searched by a condition that holds the marker. Pure. */
export function searchesBy(node: Node, marker: string): boolean {
  const condition = node['Index Cond']
  if (typeof condition === 'string' && condition.includes(marker)) return true
  return (node.Plans ?? []).some((inner) => searchesBy(inner, marker))
}
