import { afterAll, afterEach, beforeEach, expect, type RunnerTask } from 'vitest'
import { takeLeaks } from './leaks.ts'
import { finishDatabases } from './postgres.ts'

/** Unknown until a test began; if none does although there are databases, what should prepare them failed. */
let file: RunnerTask | undefined

beforeEach(({ task }) => {
  file = task.file
})

const noSecretLeaked = () => expect(takeLeaks(), 'secrets that were written').toEqual([])

afterEach(noSecretLeaked)

/** Set before any hook of the test file, so it runs after all of them. */
afterAll(async () => {
  await finishDatabases(file === undefined || hasFailed(file))
  noSecretLeaked()
})

function hasFailed(task: RunnerTask): boolean {
  return task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailed))
}
