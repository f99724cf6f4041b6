import type { Bench, TaskRun } from '../bench.ts'
import { readLog } from '../evidence/administration.ts'
import { applicationsOf, changeApplication } from '../evidence/applications.ts'
import { cancelling, wasCancelled, wasRefusedWhileWaiting } from '../evidence/cancelling.ts'
import { searches } from '../evidence/searches.ts'
import { endOf, isTerminal, listTasks } from '../evidence/task-run.ts'
import { eventsOf, eventsOfTasks, requeued } from '../evidence/webhook-evidence.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { anyOf, differs, holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, objectsOf, said, textOf } from '../wire-json.ts'
import { type Check, type Checks, given, givenEvents, givenHotel, withEvents } from './check.ts'
import { failedRows } from './judge-task.ts'

type StatusKey = keyof Bench['contract']['taskStatuses']

/** Specification, States and transitions. */
export const stateChecks: Checks<'states' | 'moves' | 'application'> = {
  'states/pending': inFlight('pending'),
  'states/scheduled': inFlight('scheduled'),
  'states/in-progress': inFlight('inProgress'),
  'states/success': terminal('success', async (bench) => Object.values((await searches(bench)).runs)),
  'states/partial-success': terminal('partialSuccess', (bench) => written(bench, 'mixed')),
  'states/error': terminal('error', (bench) => written(bench, 'failing')),
  'states/cancelled': terminal('cancelled', async (bench) => [(await cancelling(bench)).run]),
  'moves/creation': given(searches, async ({ runs }, bench) => {
    const first = Object.values(runs).map(({ statuses }) => statuses[0])
    const { pending } = bench.contract.taskStatuses
    const began = first.filter((status) => status === pending).length
    const others = [...new Set(first.filter((status) => status !== pending))]
    const seen = `${began} of ${first.length} were seen ${pending} right after their submission`
    const polled = began > 0 ? holds(seen) : notObserved(`first seen as ${others.join(', ')}: too quick for a poll`)
    return together(polled, await withEvents(noInitialEvent)(bench))
  }),
  'moves/cancel': given(cancelling, async (seen, bench) => {
    const status = `cancel answered ${seen.answer.status}, the task ended ${seen.run.statuses.at(-1) ?? 'unseen'}`
    // What cancelling answers then is not shown; that the task stays as it ended is said of each terminal status.
    const later = holds(`cancelling what had ended answered ${seen.again.status}`)
    if (seen.answer.status === 429) return notObserved(`${status}: too many calls`)
    if (wasRefusedWhileWaiting(bench, seen)) return differs(`${status}; it was ${seen.refusedAs} after the refusal`)
    if (!wasCancelled(bench, seen)) {
      return seen.answer.status >= 400
        ? notObserved(`${status}: perhaps it had started`)
        : together(judged(false, status))
    }
    const told = await withEvents(async () => {
      const topics = (await eventsOf(bench, seen.run)).map(({ type }) => type)
      return judged(topics.includes(bench.contract.webhookTopics.cancelled), `events: ${topics.join(', ') || 'none'}`)
    })(bench)
    return together(holds(status), later, told)
  }),
  'moves/re-queue': givenEvents(requeued, async (runs, bench) => {
    await eventsOfTasks(bench)
    const repeated: string[] = []
    for (const run of runs) {
      const topics = (await eventsOf(bench, run)).map(({ type }) => type)
      repeated.push(...topics.filter((topic, index) => topics.indexOf(topic) !== index).map(String))
    }
    const ended = runs.every((run) => run.task !== null)
    return judged(
      repeated.length > 0 && ended,
      `${runs.length} re-queued searches: ${[...new Set(repeated)].join(', ') || 'nothing'} again, all ended`,
    )
  }),
  'moves/open-others': given(searches, async ({ runs }, bench) => {
    const courses = new Set(Object.values(runs).map(({ statuses }) => statuses.join(' → ')))
    const logged = bench.administration ? await loggedCourse(bench) : ''
    return holds(`polled: ${[...courses].join(', ')}${logged}`)
  }),
  'states/terminal': givenHotel(writeAnswers, ({ mixed }, bench) => {
    const rows = failedRows(bench, mixed.task).length
    return judged(
      isTerminal(bench, mixed.statuses.at(-1)) && rows > 0,
      `${mixed.statuses.at(-1)} with ${rows} failed rows`,
    )
  }),

  'application/open-statuses': given(applicationsOf, ({ answer, records, seen }, bench) => {
    if (answer === null) return seen
    const statuses = new Set(records.map((record) => textOf(record[bench.contract.names.application.status])))
    return statuses.size === 0 ? notObserved('there are no applications') : holds([...statuses].join(', '))
  }),
  'application/open-moves': givenEvents(changeApplication, async ({ set, answers }) =>
    judged(
      answers.slice(0, 2).every(({ status }) => status === 200),
      `set to ${set.map(({ status, by }) => `${status} (${by})`).join(', then ')}`,
    ),
  ),
  'application/events': givenEvents(changeApplication, async ({ set, statusEvents, answersEvents }) =>
    judged(
      statusEvents.length === set.length && answersEvents.length > 0,
      `${statusEvents.length} events for ${set.length} changes of status, by the API and in the web application; ${answersEvents.length} for answers`,
    ),
  ),
}

/** An in-flight status must have been seen, and left again: by polling, or in an event. */
function inFlight(key: StatusKey): Check {
  return given(searches, async ({ runs }, bench) => {
    const status = bench.contract.taskStatuses[key]
    const polled = Object.values(runs).filter(({ statuses }) => statuses.includes(status))
    const ended = polled.filter((run) => run.task !== null && run.statuses.at(-1) !== status)
    const byPoll =
      polled.length === 0
        ? notObserved(`no poll saw ${status}`)
        : judged(
            ended.length === polled.length,
            `polled ${polled.length} times as ${status}, left ${ended.length} times`,
          )
    return anyOf(byPoll, await withEvents(() => inEvents(bench, key))(bench))
  })
}

async function inEvents(bench: Bench, key: StatusKey): Promise<Observation> {
  const topic = bench.contract.webhookTopics[key]
  const events = (await eventsOfTasks(bench)).filter(({ type }) => type === topic).length
  return events > 0 ? holds(`${events} events ${topic}`) : notObserved(`no event ${topic}`)
}

/** A terminal status must have been reached, and must stay. */
function terminal(key: StatusKey, gather: (bench: Bench) => Promise<TaskRun[] | Observation>): Check {
  return async (bench) => {
    const status = bench.contract.taskStatuses[key]
    const runs = await gather(bench)
    if (!Array.isArray(runs)) return anyOf(await fromList(bench, status), runs)
    const [reached] = runs.filter((run) => run.statuses.at(-1) === status)
    const strange = runs.filter((run) => run.strangeSince !== null).map(endOf)
    if (reached === undefined && strange.length > 0) return differs(`no task ended ${status}: ${strange.join('; ')}`)
    if (reached?.correlationId == null) return await fromList(bench, status)
    return stays(bench, reached.correlationId, status)
  }
}

async function stays(bench: Bench, id: string, status: string): Promise<Observation> {
  const { json } = await bench.wire.call(bench.contract.endpoints.task, { id })
  const now = textOf(at(json, bench.contract.names.task.status))
  return judged(now === status, `reached, and ${now === status ? 'still the same' : `now ${now}`} when read again`)
}

/** A task of an earlier day that the list shows. */
async function fromList(bench: Bench, status: string): Promise<Observation> {
  const names = bench.contract.names.task
  const listed = objectsOf((await listTasks(bench)).json).find((task) => task[names.status] === status)
  const id = textOf(listed?.[names.correlationId])
  return id === null ? notObserved(`no task ended ${status}`) : stays(bench, id, status)
}

async function written(bench: Bench, which: 'mixed' | 'failing'): Promise<TaskRun[] | Observation> {
  const runs: TaskRun[] = []
  const seen = await givenHotel(writeAnswers, (answers) => {
    runs.push(answers[which])
    return holds('')
  })(bench)
  return seen.verdict === 'holds' ? runs : seen
}

async function noInitialEvent(bench: Bench): Promise<Observation> {
  const { runs } = await searches(bench)
  await eventsOfTasks(bench)
  const ofSearches = new Set(Object.values(runs).map((run) => run.correlationId))
  const { correlationId } = bench.contract.names.bulkEvent
  const { pending } = bench.contract.webhookTopics
  const fired = (await eventsOfTasks(bench)).filter(
    ({ type, data }) => type === pending && ofSearches.has(textOf(data[correlationId])),
  )
  return judged(fired.length === 0, `${fired.length} events of the initial status of ${ofSearches.size} searches`)
}

async function loggedCourse(bench: Bench): Promise<string> {
  const { correlationId } = (await searches(bench)).runs.calculators
  const lines = (await readLog(bench, 0)).filter((line) => line.correlationId === correlationId)
  const phases = lines.filter(({ phase, path }) => phase !== 'received' || !said(path).includes('/tasks/'))
  return `; logged: ${phases.map(({ phase, status }) => [phase, status].flatMap((word) => textOf(word) ?? []).join(' ')).join(', ')}`
}
