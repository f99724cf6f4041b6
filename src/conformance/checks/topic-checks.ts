import { changeApplication } from '../evidence/applications.ts'
import { finish, isTerminal, submit } from '../evidence/task-run.ts'
import { eventsAt, eventsOf, setUp } from '../evidence/webhook-evidence.ts'
import { webhookRules } from '../evidence/webhook-rules.ts'
import { testButton } from '../evidence/webhook-trials.ts'
import { judged, notObserved, together } from '../observation.ts'
import { textOf } from '../wire-json.ts'
import { type Check, type Checks, givenEvents, withEvents } from './check.ts'
import { everyBulkEvent, everyEvent, everyRequest, memberFault, overEvents, unless } from './judge-events.ts'

type BulkTopic = 'pending' | 'scheduled' | 'inProgress' | 'success' | 'partialSuccess' | 'error' | 'cancelled'

/** Specification, Events: which there are, by topic. */
export const topicChecks: Checks<'events' | 'topics'> = {
  'events/source': withEvents(everyRequest),

  'topics/pending': topic('pending'),
  'topics/scheduled': topic('scheduled'),
  'topics/in-progress': topic('inProgress'),
  'topics/succeeded': topic('success'),
  'topics/partially-succeeded': topic('partialSuccess'),
  'topics/failed': topic('error'),
  'topics/cancelled': topic('cancelled'),
  'topics/application-status': givenEvents(changeApplication, ({ statusEvents, set }, bench) => {
    const { status } = bench.contract.names.applicationEvent
    const seen = statusEvents.map(({ data }) => textOf(data[status]))
    const wanted = set.map((one) => one.status)
    return judged(
      wanted.every((one) => seen.includes(one)) && seen.length === wanted.length,
      `statuses ${seen.join(', ') || 'none'}`,
    )
  }),
  'topics/application-answers': givenEvents(changeApplication, ({ answersEvents }, bench) => {
    const { status } = bench.contract.names.applicationEvent
    return overEvents(answersEvents, 'status null', ({ data }) => unless(data[status] === null, status, data[status]))
  }),
  'topics/terminal': everyEvent('terminal topics with terminal statuses only', ({ type, data }, bench) => {
    const { success, partialSuccess, error, cancelled } = bench.contract.webhookTopics
    const terminal: (string | null)[] = [success, partialSuccess, error, cancelled]
    const status = data[bench.contract.names.bulkEvent.status]
    return unless(terminal.includes(type) === isTerminal(bench, status), `the status of ${type}`, status)
  }),
  'topics/certifiers': givenEvents(changeApplication, async ({ statusEvents }, bench) => {
    const opened = await setUp(bench)
    const { applicationStatusChanged, applicationAnswersChanged } = bench.contract.webhookTopics
    const others = eventsAt(bench, opened, opened.main.path).filter(
      ({ type }) => type === applicationStatusChanged || type === applicationAnswersChanged,
    )
    return judged(
      others.length === 0 && statusEvents.length > 0,
      `${statusEvents.length} to the owner, ${others.length} to another profile that subscribed too`,
    )
  }),
  'topics/test': givenEvents(testButton, async ({ event, eventId }, bench) => {
    const { testTopic } = await webhookRules(bench)
    const sent = judged(
      event?.type === bench.contract.webhookTopics.test && eventId !== null,
      `while disabled: ${event?.type ?? 'nothing came'}`,
    )
    return together(sent, judged(testTopic.status === 400, `subscribing to it answered ${testTopic.status}`))
  }),
  'topics/no-initial': withEvents(async (bench) => {
    const run = await submit(bench, 'standardsSearch', bench.contract.endpoints.standardsSearch, {})
    await finish(bench, [run])
    const topics = (await eventsOf(bench, run)).map(({ type }) => type)
    return judged(topics.length > 0 && !topics.includes(bench.contract.webhookTopics.pending), topics.join(', '))
  }),
}

/** A topic must carry its status, and come at least once. */
function topic(key: BulkTopic): Check {
  return withEvents(async (bench) => {
    const name = bench.contract.webhookTopics[key]
    const { status } = bench.contract.names.bulkEvent
    const expected = bench.contract.taskStatuses[key]
    const events = (await everyBulkEvent(bench)).filter(({ type }) => type === name)
    if (events.length === 0) return notObserved(`no ${name} came: no task went there`)
    return overEvents(events, expected, ({ data }) => memberFault(data, status, (value) => value === expected))
  })
}
