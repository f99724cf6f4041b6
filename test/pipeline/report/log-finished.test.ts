import { pino } from 'pino'
import { expect, it } from 'vitest'
import { logFinished } from '../../../src/pipeline/report/report.ts'

it.each([
  ['succeeded', 30],
  ['partial', 40],
  ['failed', 50],
] as const)('a run that %s is in the log at level %i', (verdict, level) => {
  const lines: string[] = []
  logFinished(pino({}, { write: (line: string) => lines.push(line) }), { run_id: 7, verdict, remarks: ['Why.'] })
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level, msg: 'run_finished', run_id: 7, verdict, remarks: ['Why.'] },
  ])
})
