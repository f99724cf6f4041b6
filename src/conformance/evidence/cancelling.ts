import type { Bench, TaskRun } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { at, textOf } from '../wire-json.ts'
import { finish, submit } from './task-run.ts'

type Cancelling = {
  run: TaskRun
  answer: Answer
  /** How the task stood right after it was not cancelled; null where it was, or where it did not say. */
  refusedAs: string | null
  /** Cancelling the same task once more, when it had ended. */
  again: Answer
}

/** A burst keeps the service busy, so that its last task has not begun when it is cancelled. */
const burst = 6
const attempts = 3

/**
 * Sends searches and cancels the last at once; tried a few times, because a quick service may have begun it already.
 */
export function cancelling(bench: Bench): Promise<Cancelling> {
  return bench.once('cancelling', async () => {
    let seen = await tryToCancel(bench)
    for (let nth = 1; nth < attempts && !wasCancelled(bench, seen) && !wasRefusedWhileWaiting(bench, seen); nth += 1)
      seen = await tryToCancel(bench)
    return seen
  })
}

export function wasCancelled({ contract }: Pick<Bench, 'contract'>, { run }: Cancelling): boolean {
  return textOf(run.task?.[contract.names.task.status]) === contract.taskStatuses.cancelled
}

/** The task had not started when it could not be cancelled: it still had not a moment later. */
export function wasRefusedWhileWaiting({ contract }: Pick<Bench, 'contract'>, { refusedAs }: Cancelling): boolean {
  return refusedAs === contract.taskStatuses.pending || refusedAs === contract.taskStatuses.scheduled
}

async function tryToCancel(bench: Bench): Promise<Cancelling> {
  const { standardsSearch, cancelTask } = bench.contract.endpoints
  const runs: TaskRun[] = []
  for (let nth = 0; nth < burst; nth += 1) {
    runs.push(await submit(bench, 'standardsSearch', standardsSearch, {}, { look: false }))
  }
  const last = runs.at(-1)
  if (last === undefined) throw new RangeError('a burst holds at least one search')
  const id = last.correlationId ?? 'none'
  const answer = await bench.wire.call(cancelTask, { id })
  const refusedAs = answer.status < 300 ? null : await statusOf(bench, id)
  if (answer.status >= 300) bench.note('error', answer.json)
  await finish(bench, runs)
  const again = await bench.wire.call(cancelTask, { id })
  if (again.status >= 300) bench.note('error', again.json)
  return { run: last, answer, refusedAs, again }
}

async function statusOf(bench: Bench, id: string): Promise<string | null> {
  const { json } = await bench.wire.call(bench.contract.endpoints.task, { id })
  return textOf(at(json, bench.contract.names.task.status))
}
