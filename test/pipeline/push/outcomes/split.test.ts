import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cutInHalves,
  type FailedPart,
  judgeFailedPart,
  type Part,
} from '../../../../src/pipeline/push/outcomes/judge-error.ts'
import { some } from '../../../helpers/some.ts'

const parts = (...family: [depth: number, fate: Part['fate']][]): Part[] =>
  family.map(([depth, fate]) => ({ depth, fate, settled: depth < 2 && fate !== 'open' }))

describe('a request whose task ended in Error without naming a row', () => {
  it.each<[string, Omit<FailedPart, 'maxSplits'>, string]>([
    ['the first one, with several rows', { rows: 8, depth: 0, family: parts([0, 'failed']) }, 'split'],
    ['the first one, with a single row', { rows: 1, depth: 0, family: parts([0, 'failed']) }, 'alone'],
    [
      'a half, while the other is on its way',
      { rows: 4, depth: 1, family: parts([0, 'failed'], [1, 'failed'], [1, 'open']) },
      'split',
    ],
    [
      'a quarter, while no other part has passed',
      { rows: 2, depth: 2, family: parts([0, 'failed'], [1, 'failed'], [1, 'failed'], [2, 'failed'], [2, 'open']) },
      'wait',
    ],
    [
      'a quarter, once another part has passed',
      { rows: 2, depth: 2, family: parts([0, 'failed'], [1, 'failed'], [1, 'passed'], [2, 'failed'], [2, 'open']) },
      'split',
    ],
    [
      'a quarter, when every part failed',
      {
        rows: 2,
        depth: 2,
        family: parts(
          [0, 'failed'],
          [1, 'failed'],
          [1, 'failed'],
          [2, 'failed'],
          [2, 'failed'],
          [2, 'failed'],
          [2, 'failed'],
        ),
      },
      'not_the_rows',
    ],
    [
      'a single row, when every part failed',
      { rows: 1, depth: 2, family: parts([0, 'failed'], [1, 'failed'], [1, 'failed'], [2, 'failed'], [2, 'failed']) },
      'not_the_rows',
    ],
    [
      'a single row, when others passed',
      { rows: 1, depth: 2, family: parts([0, 'failed'], [1, 'failed'], [1, 'passed'], [2, 'failed'], [2, 'passed']) },
      'alone',
    ],
    [
      'a quarter, when the other parts were cancelled or lost, which says nothing',
      { rows: 2, depth: 2, family: parts([0, 'failed'], [1, 'failed'], [1, 'nothing'], [2, 'failed'], [2, 'nothing']) },
      'not_the_rows',
    ],
    [
      'a quarter, when nothing but the first one passed, which says nothing of its parts',
      { rows: 2, depth: 2, family: parts([0, 'passed'], [1, 'failed'], [1, 'failed'], [2, 'failed'], [2, 'failed']) },
      'not_the_rows',
    ],
    [
      'a quarter, while only an eighth is on its way, or the first one is not judged',
      {
        rows: 2,
        depth: 2,
        family: [
          { depth: 0, fate: 'failed', settled: false },
          ...parts([1, 'failed'], [1, 'failed'], [2, 'failed'], [2, 'failed'], [3, 'open']),
        ],
      },
      'not_the_rows',
    ],
    [
      'a quarter, while a half is not judged, which may have quarters yet',
      {
        rows: 2,
        depth: 2,
        family: [
          ...parts([0, 'failed'], [1, 'failed'], [2, 'failed'], [2, 'failed']),
          { depth: 1, fate: 'failed', settled: false },
        ],
      },
      'wait',
    ],
  ])('a request whose task ended in Error without naming a row is judged: %s', (_, part, verdict) => {
    expect(judgeFailedPart({ ...part, maxSplits: 40 })).toBe(verdict)
  })

  it('a request whose task ended in Error without naming a row is not split beyond the bound, and to the bound', () => {
    const family = parts([0, 'failed'], [1, 'failed'], [1, 'passed'])
    expect(judgeFailedPart({ rows: 9, depth: 1, family, maxSplits: 3 })).toBe('too_many')
    expect(judgeFailedPart({ rows: 9, depth: 1, family, maxSplits: 4 })).toBe('split')
  })
})

describe('a cut', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 })
  const rowsOf = (counts: number[]) =>
    counts.flatMap((count, at) => Array.from({ length: count }, () => ({ target: `T${at}` })))

  it('loses and doubles no row, keeps their order, and leaves no half empty', () => {
    fc.assert(
      fc.property(sizes, (counts) => {
        const rows = rowsOf(counts)
        const [first, second] = cutInHalves(rows)
        expect([...first, ...second]).toEqual(rows)
        if (rows.length > 1) expect(Math.min(first.length, second.length)).toBeGreaterThan(0)
      }),
    )
  })

  it('never has one target in both halves, unless there is no other', () => {
    fc.assert(
      fc.property(sizes, (counts) => {
        const [first, second] = cutInHalves(rowsOf(counts))
        const shared = first.filter(({ target }) => second.some((row) => row.target === target))
        expect(counts.length === 1 || shared.length === 0).toBe(true)
      }),
    )
  })

  it('a cut of targets with a row each differs by one row at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 500 }), (count) => {
        const [first, second] = cutInHalves(rowsOf(Array.from({ length: count }, () => 1)))
        expect(Math.abs(first.length - second.length)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('brings the rows of a target together wherever they stand', () => {
    const rows = ['a', 'b', 'a', 'c'].map((target, at) => ({ target, at }))
    expect(cutInHalves(rows).map((half) => half.map(({ at }) => at))).toEqual([
      [0, 2],
      [1, 3],
    ])
  })
})

/** Sends, splits and judges as a run does, against a service that fails over poison. */
function search(rows: { target: string; poison: boolean }[], maxSplits: number, pick: (waiting: number) => number) {
  type Node = Part & { rows: typeof rows; stopped?: boolean }
  const family: Node[] = [{ depth: 0, fate: 'open', settled: false, rows }]
  const outcomes = new Map<(typeof rows)[number], string[]>()
  const give = (node: Node, outcome: string) => {
    for (const row of node.rows) outcomes.set(row, [...(outcomes.get(row) ?? []), outcome])
  }
  const failed: Node[] = []
  for (;;) {
    const open = family.filter(({ fate }) => fate === 'open')
    const next = open[pick(open.length)]
    if (next === undefined) break
    next.fate = next.rows.some(({ poison }) => poison) ? 'failed' : 'passed'
    if (next.fate === 'failed') failed.push(next)
    else {
      next.settled = true
      give(next, 'accepted')
    }
    // Whatever waited is looked at again after every end, also of a part that only waited.
    for (let judged = true; judged; ) {
      judged = false
      for (const node of failed.splice(0)) {
        const verdict = judgeFailedPart({ rows: node.rows.length, depth: node.depth, family, maxSplits })
        node.settled = verdict !== 'wait'
        judged ||= node.settled
        if (verdict === 'wait') failed.push(node)
        else if (verdict === 'split') {
          for (const half of cutInHalves(node.rows)) {
            family.push({ depth: node.depth + 1, fate: 'open', settled: false, rows: half })
          }
        } else give(node, verdict)
      }
    }
  }
  return { outcomes: rows.map((row) => outcomes.get(row) ?? []), requests: family.length - 1, waiting: failed.length }
}

describe('splitting', () => {
  const scenario = fc.record({
    poison: fc.array(fc.boolean(), { minLength: 1, maxLength: 120 }),
    share: fc.integer({ min: 1, max: 3 }),
    maxSplits: fc.integer({ min: 2, max: 60 }),
    order: fc.infiniteStream(fc.nat()),
  })
  const rowsOf = (poison: boolean[], share: number) =>
    poison.map((is, at) => ({ target: `T${Math.floor(at / share)}`, poison: is }))

  it('gives every row exactly one outcome, never accepts poison, never rejects what is sound, and keeps the bound', () => {
    fc.assert(
      fc.property(scenario, ({ poison, share, maxSplits, order }) => {
        const rows = rowsOf(poison, share)
        const found = search(rows, maxSplits, (count) => (count === 0 ? -1 : (order.next().value ?? 0) % count))
        expect(found.waiting).toBe(0)
        expect(found.requests).toBeLessThanOrEqual(maxSplits)
        for (const [at, outcomes] of some(found.outcomes.entries())) {
          expect(outcomes).toHaveLength(1)
          if (outcomes[0] === 'accepted') expect(poison[at]).toBe(false)
          if (outcomes[0] === 'alone') expect(poison[at]).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('finds exactly the poisoned rows where a half of a half is sound and the bound is not reached, in any order of ends', () => {
    const sparse = fc.record({
      size: fc.integer({ min: 2, max: 400 }),
      poisoned: fc.uniqueArray(fc.nat(399), { minLength: 1, maxLength: 3 }),
      order: fc.infiniteStream(fc.nat()),
    })
    fc.assert(
      fc.property(sparse, ({ size, poisoned, order }) => {
        const at = new Set(poisoned.map((number) => number % size))
        const rows = rowsOf(
          Array.from({ length: size }, (_, index) => at.has(index)),
          1,
        )
        fc.pre(size > 3 || at.size < size)
        const { outcomes, requests } = search(rows, 60, (count) =>
          count === 0 ? -1 : (order.next().value ?? 0) % count,
        )
        expect(outcomes.map(([outcome]) => outcome)).toEqual(rows.map(({ poison }) => (poison ? 'alone' : 'accepted')))
        expect(requests).toBeLessThanOrEqual(2 * at.size * Math.ceil(Math.log2(size)))
      }),
      { numRuns: 500 },
    )
  })

  it('stops after six requests when the service fails over everything', () => {
    const rows = rowsOf(
      Array.from({ length: 1000 }, () => true),
      1,
    )
    const { outcomes, requests } = search(rows, 40, () => 0)
    expect(requests).toBe(6)
    expect(new Set(outcomes.flat())).toEqual(new Set(['not_the_rows']))
  })
})
