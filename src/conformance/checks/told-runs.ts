import type { Bench, TaskRun } from '../bench.ts'
import { findHotel } from '../evidence/hotel.ts'
import { eventsOfTasks } from '../evidence/webhook-evidence.ts'
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
  const hotel = bench.writing === null ? null : await findHotel(bench, bench.writing)
  if (hotel !== null && typeof hotel !== 'string') {
    await writeMapping(bench, hotel)
    await writeAnswers(bench, hotel)
  }
  await eventsOfTasks(bench)
  const runs = [...bench.told]
  const opened = await webhooks(bench)
  if (typeof opened !== 'string') await flush(bench, opened.main)
  return runs
}
