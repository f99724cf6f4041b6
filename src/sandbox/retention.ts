import type { Queryable, Sandbox } from './running-sandbox.ts'

const dayMs = 86_400_000

/** Between two rounds, on the sandbox's clock. */
const roundMs = 3_600_000

/** Small enough that no statement holds anybody up: some 10 MB of a result file, or a thousand lines. */
const chunksAtOnce = 200
const rowsAtOnce = 1000

/**
 * Removes what the service keeps for a while only: tasks that ended more than `retentionDays` ago on the sandbox's
 * clock, with their result files, and lines of the request log of that age. A task that is gone is unknown, as one that
 * never was. Spec gap: how long tasks and result files are kept is not shown, docs/spec-gaps.md.
 */
export function startRetention(sandbox: Sandbox, options: { retentionDays: number }): { stop(): Promise<void> } {
  const { clock, logger } = sandbox
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async () => {
    while (!signal.aborted) {
      // Counted from the start of the round: the clock may leap while it lasts.
      const nextAt = clock.now() + roundMs
      try {
        await removeOlder(sandbox.pool, new Date(clock.now() - options.retentionDays * dayMs), signal)
      } catch (error) {
        logger.warn({ err: error }, 'sandbox_retention_failed')
      }
      await clock.wait(Math.max(0, nextAt - clock.now()), signal)
    }
  }
  const looping = loop()
  return {
    stop: async () => {
      stopping.abort()
      await looping
    },
  }
}

/** Step by step: first the pieces of old files, so that no single statement has to remove a large one. */
async function removeOlder(db: Queryable, before: Date, signal: AbortSignal): Promise<void> {
  await inSteps(db, signal, [
    `delete from sandbox.file_chunk where (token, ordinal) in (
       select c.token, c.ordinal from sandbox.task t join sandbox.file f on f.task_id = t.id
       join sandbox.file_chunk c using (token) where t.finished_at < $1 limit $2)`,
    [before, chunksAtOnce],
  ])
  for (const statement of [
    `delete from sandbox.file where token in (
       select token from sandbox.task t join sandbox.file f on f.task_id = t.id where t.finished_at < $1 limit $2)`,
    `delete from sandbox.task where id in (select id from sandbox.task where finished_at < $1 limit $2)`,
    'delete from sandbox.request_log where id in (select id from sandbox.request_log where at < $1 limit $2)',
  ]) {
    await inSteps(db, signal, [statement, [before, rowsAtOnce]])
  }
}

async function inSteps(db: Queryable, signal: AbortSignal, [statement, values]: [string, unknown[]]): Promise<void> {
  while (!signal.aborted) {
    const { rowCount } = await db.query(statement, values)
    if (rowCount === 0) return
  }
}
