import { expect, it } from 'vitest'
import { growthOf, nestedWorkOf, type StatementWork, workOf } from '../../../bench/growth/statement-work.ts'

const scan = (rows: number, loops: number, removed = 0) => ({
  'Node Type': 'Seq Scan',
  'Actual Rows': rows,
  'Actual Loops': loops,
  'Rows Removed by Filter': removed,
})
const join = (type: string, inner: ReturnType<typeof scan>) => ({
  'Node Type': type,
  'Actual Rows': 100,
  'Actual Loops': 1,
  Plans: [scan(100, 1), inner],
})

it('work counts what each loop passed on and threw away', () => {
  expect(workOf(scan(1, 100, 99))).toBe(10_000)
  expect(workOf(join('Hash Join', scan(1_000, 1)))).toBe(100 + 100 + 1_000)
})

it('a nested loop counts by its inner side, and a hash join does not', () => {
  expect(nestedWorkOf(join('Nested Loop', scan(1, 100, 99)))).toBe(10_000)
  expect(nestedWorkOf({ 'Node Type': 'Sort', Plans: [join('Nested Loop', scan(1, 100))] })).toBe(100)
  expect(nestedWorkOf(join('Hash Join', scan(1, 100, 99)))).toBe(0)
})

const statement = (work: number, nested = 0): StatementWork => ({
  stage: 'settlement',
  text: 'update',
  executions: 1,
  work,
  nested,
  ms: 1,
})
const problemOf = (small: StatementWork, large: StatementWork) => growthOf([small], [large], 10_000)[0]?.problem

it('a statement may do twelve times the work for ten times the rows, and no more', () => {
  expect(problemOf(statement(100_000), statement(1_100_000))).toBeNull()
  expect(problemOf(statement(100_000), statement(1_300_000))).toBe('grows')
})

it('a nested loop over two large inputs is named, whether it grows or not', () => {
  expect(problemOf(statement(60_000, 60_000), statement(6_000_000, 6_000_000))).toBe('nested_loop')
  expect(problemOf(statement(300_000, 300_000), statement(3_000_000, 3_000_000))).toBe('nested_loop')
  expect(problemOf(statement(60_000, 60_000), statement(600_000, 600_000))).toBeNull()
})

it('a statement that the smaller test did not run is judged by its visits alone', () => {
  expect(growthOf([], [statement(100_000)], 10_000)[0]?.problem).toBeNull()
  expect(growthOf([], [statement(10_000_000)], 10_000)[0]?.problem).toBe('grows')
})
