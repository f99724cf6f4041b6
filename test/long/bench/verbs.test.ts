import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { Spent } from '../../../bench/verbs-run.ts'
import { some } from '../../helpers/some.ts'

const script = fileURLToPath(new URL('../../../bench/verbs.ts', import.meta.url))

it('the bench of verbs measures the program built and from its sources, beside a bare Node.js and a bare query', {
  timeout: 600_000,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--quick', '--json'])
  const { rows, rounds } = JSON.parse(stdout) as { rows: number; rounds: Record<string, Spent>[] }
  expect(rows).toBe(10_000)
  expect(rounds).toHaveLength(1)
  const names = ['node -e 0', '--version', '--version from the sources', 'pg: connect, select 1']
  expect(Object.keys(rounds[0] ?? {})).toEqual(
    expect.arrayContaining([...names, 'status', 'rejected', 'trace', 'parked']),
  )
  for (const spent of some(Object.values(rounds[0] ?? {}))) expect(spent.wall).toBeGreaterThan(0)
})
