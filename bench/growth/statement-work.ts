/** A node of a plan as `explain (analyze, format json)` shows it; what is per loop is an average over the loops. */
export type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

/**
 * Rows that a plan visited, over all of its nodes and loops: what they passed on, and what they threw away. Other than
 * time it is the same on a busy machine. Pure.
 */
export function workOf(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, child) => sum + workOf(child), 0)
  return below + visited(node)
}

function visited(node: PlanNode): number {
  const perLoop =
    (node['Actual Rows'] ?? 0) +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return Math.round(perLoop * (node['Actual Loops'] ?? 0))
}

/** Rows that the inner side of a plan's busiest nested loop visited, over all of its loops. Pure. */
export function nestedWorkOf(node: PlanNode): number {
  const inner = node['Node Type'] === 'Nested Loop' ? node.Plans?.[1] : undefined
  const own =
    inner === undefined ? 0 : workOf(inner) + (node['Rows Removed by Join Filter'] ?? 0) * (node['Actual Loops'] ?? 0)
  return Math.max(own, ...(node.Plans ?? []).map(nestedWorkOf))
}

/** What one statement did in one stage, over all of its executions. */
export type StatementWork = {
  stage: string
  text: string
  executions: number
  work: number
  /** Of its busiest nested loop. */
  nested: number
  /** By the server's clock. */
  ms: number
}

/** A statement's work with some rows and with ten times as many. */
export type Growth = StatementWork & { smallWork: number; factor: number; problem: 'grows' | 'nested_loop' | null }

/** How much more work ten times the rows may be: sorting, and trees that are one level deeper, cost a little more. */
export const mostGrowth = 12

/**
 * Visits a row of the test that no growth is told of: plans differ between a small table and a large one, and what is
 * read a few dozen times by hash or key is read so often at any size.
 */
const visitsARow = 50

/** Visits a row of the test by the inner side of a nested loop that are too many, also where they do not grow. */
const nestedVisitsARow = 100

/** Statements of the larger test, each beside itself in the smaller one. Pure. */
export function growthOf(small: readonly StatementWork[], large: readonly StatementWork[], rows: number): Growth[] {
  const known = new Map(small.map((statement) => [nameOf(statement), statement]))
  return large.map((statement) => {
    const { work: smallWork, nested: smallNested } = known.get(nameOf(statement)) ?? { work: 0, nested: 0 }
    const factor = statement.work / Math.max(1, smallWork)
    const grows = statement.work > visitsARow * rows && factor > mostGrowth
    const loopGrows = statement.nested > visitsARow * rows && statement.nested / Math.max(1, smallNested) > mostGrowth
    const loops = loopGrows || statement.nested > nestedVisitsARow * rows
    return { ...statement, smallWork, factor, problem: loops ? 'nested_loop' : grows ? 'grows' : null }
  })
}

function nameOf({ stage, text }: Pick<StatementWork, 'stage' | 'text'>): string {
  return `${stage}\n${text}`
}
