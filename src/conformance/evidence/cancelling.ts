import type { Bench } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { textOf } from '../wire-json.ts'
import { finish, submit, type TaskRun } from './task-run.ts'

export type Cancelling = {
  run: TaskRun
  answer: Answer /** Cancelling the same task once more, when it had ended. */
  again: Answer
}

/** A burst keeps the service busy, so that its last task has not begun when it is cancelled. */
const burst = 6
const attempts = 3

/** Sends searches and cancels the last at once; tried a few times, because a quick service may have begun it already. */
export function cancelling(bench: Bench): Promise<Cancelling> {
  return bench.once('cancelling', async () => {
    let seen = await tryToCancel(bench)
    for (let nth = 1; nth < attempts && !wasCancelled(bench, seen); nth += 1) seen = await tryToCancel(bench)
    return seen
  })
}

export function wasCancelled({ contract }: Pick<Bench, 'contract'>, { run }: Cancelling): boolean {
  return textOf(run.task?.[contract.names.task.status]) === contract.taskStatuses.cancelled
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
  if (answer.status >= 300) bench.note('error', answer.json)
  await finish(bench, runs)
  const again = await bench.wire.call(cancelTask, { id })
  if (again.status >= 300) bench.note('error', again.json)
  return { run: last, answer, again }
}
