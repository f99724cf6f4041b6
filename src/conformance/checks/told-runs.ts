import type { Bench } from '../bench.ts'
import { cancelling } from '../evidence/cancelling.ts'
import { findHotel } from '../evidence/hotel.ts'
import { searches, searchNames } from '../evidence/searches.ts'
import type { TaskRun } from '../evidence/task-run.ts'
import { eventsOfTasks, requeued, siblingSearch } from '../evidence/webhook-evidence.ts'
import { flush, webhooks } from '../evidence/webhook-set-up.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { writeMapping } from '../evidence/written-rest.ts'
import { faultless, type Observation } from '../observation.ts'
import { textOf } from '../wire-json.ts'

/** At least once: every task that ended must have been told of, under the topic of its end. */
export function everyEnd(bench: Bench): Promise<Observation> {
  return everyStatus(bench, 'ends of tasks, each told of', ({ task, statuses }) =>
    task === null ? [] : statuses.slice(-1),
  )
}

/** Every change of a status that a poll saw must have been told of; how a task began is no change. */
export function everyChange(bench: Bench): Promise<Observation> {
  return everyStatus(bench, 'changes that polls saw, each told of', ({ statuses }) =>
    statuses.filter((status) => status !== bench.contract.taskStatuses.pending),
  )
}

async function everyStatus(bench: Bench, seen: string, wanted: (run: TaskRun) => string[]): Promise<Observation> {
  const runs = await toldRuns(bench)
  const { correlationId, status } = bench.contract.names.bulkEvent
  const told = new Set(
    (await eventsOfTasks(bench)).map(({ data }) => `${textOf(data[correlationId])} ${textOf(data[status])}`),
  )
  const expected = runs.flatMap((run) => [...new Set(wanted(run))].map((one) => ({ run, one })))
  const missing = expected.filter(({ run, one }) => !told.has(`${run.correlationId} ${one}`))
  return faultless(
    missing.map(({ run, one }) => `no event says that a ${run.label} was ${one}`),
    `${expected.length} ${seen}`,
  )
}

/** Everything that was sent while the main webhook listened, told of as far as it will be. */
async function toldRuns(bench: Bench): Promise<TaskRun[]> {
  const { runs } = await searches(bench)
  const { burst } = await cancelling(bench)
  const sibling = await siblingSearch(bench)
  const all = [
    ...searchNames.map((name) => runs[name]),
    ...burst,
    ...(await requeued(bench)),
    ...(sibling ? [sibling] : []),
  ]
  const hotel = bench.writing === null ? null : await findHotel(bench, bench.writing)
  if (hotel !== null && typeof hotel !== 'string') {
    const answers = await writeAnswers(bench, hotel)
    all.push((await writeMapping(bench, hotel)).run)
    if (typeof answers !== 'string') all.push(answers.mixed, answers.withoutFramework, answers.failing)
  }
  await eventsOfTasks(bench)
  const opened = await webhooks(bench)
  if (typeof opened !== 'string') await flush(bench, opened.main)
  return all
}
