/**
 * One stage of a run in a process of its own, so that its memory is its own: started by push-scale.ts with what to do
 * as one JSON argument, it prints what that took as one line of JSON.
 */
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { settings } from '../src/config/schema.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { schemaName } from '../src/db/migrate-to-latest.ts'
import { loadContract } from '../src/exchange/contract.ts'
import { makeRoomForRows } from '../src/heap.ts'
import { startEngine } from '../src/jobs/engine.ts'
import { extract } from '../src/pipeline/delta/extract.ts'
import type { Deps } from '../src/pipeline/deps.ts'
import { preflight } from '../src/pipeline/preflight/preflight.ts'
import { planWave } from '../src/pipeline/push/waves/plan-wave.ts'
import { memoryOf } from './memory.ts'

export type Stage = 'nothing' | 'extract' | 'preflight' | 'plan'

export type Task = {
  stage: Stage
  capture: 'cursor' | 'snapshot'
  runId: number
  ownUrl: string
  partnerUrl: string
  queries: { properties: string; framework_answers: string }
}

/** Seconds of the stage by the clock, seconds of this process's processors, bytes resident at most. */
export type Spent = { seconds: number; processor: number; peak: number }

// As every process that carries rows does.
makeRoomForRows()

const task = JSON.parse(process.argv[2] ?? '{}') as Task
const pool = createPool(task.ownUrl, {
  max: 4,
  applicationName: 'nightferry bench',
  searchPath: schemaName,
  onIdleError: () => {},
})
const db = createDatabase(pool)
const stream = { capture: task.capture, cursor: 'updated_at' }
const config = settings.parse({
  streams: {
    properties: { query: task.queries.properties, ...stream },
    framework_answers: { query: task.queries.framework_answers, ...stream },
  },
})
const engine = task.stage === 'plan' ? await startEngine(task.ownUrl, config, () => {}) : undefined
const deps = {
  config,
  contract: loadContract(fileURLToPath(new URL('../config/contract.yaml', import.meta.url))),
  required: { partnerUrl: task.partnerUrl },
  pool,
  db,
  looks: engine?.looks,
  logger: pino({ level: 'silent' }),
  now: () => new Date(),
} as Deps
const run = await db.selectFrom('run').selectAll().where('run_id', '=', task.runId).executeTakeFirstOrThrow()

const began = performance.now()
const before = process.cpuUsage()
if (task.stage === 'extract') await extract(deps, run)
if (task.stage === 'preflight') await preflight(deps, run)
if (task.stage === 'plan') await planWave(deps, run)
const used = process.cpuUsage(before)
const spent: Spent = {
  seconds: (performance.now() - began) / 1000,
  processor: (used.user + used.system) / 1e6,
  peak: memoryOf(process.pid, 'VmHWM'),
}
await engine?.stop()
await pool.end()
process.stdout.write(`${JSON.stringify(spent)}\n`)
