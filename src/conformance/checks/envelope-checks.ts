import type { Contract } from '../../exchange/contract.ts'
import type { Bench } from '../bench.ts'
import { changeApplication } from '../evidence/applications.ts'
import { findHotel } from '../evidence/hotel.ts'
import { searches } from '../evidence/searches.ts'
import { eventsOf, siblingSearch } from '../evidence/webhook-evidence.ts'
import { ladder, testButton } from '../evidence/webhook-trials.ts'
import { writeMapping } from '../evidence/written-rest.ts'
import { faultless, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, isObject, isUuid, kindOf, said, textOf } from '../wire-json.ts'
import { type Check, type Checks, givenEvents, withEvents } from './check.ts'
import {
  eventsWithRuns,
  everyBulkEvent,
  everyEvent,
  memberFault,
  overEvents,
  signedOf,
  unless,
} from './judge-events.ts'
import { namesOf } from './judge-task.ts'

/** Specification, Events: envelope, data, application events. */
export const envelopeChecks: Checks<'envelope' | 'bulk-event' | 'application-event'> = {
  'envelope/id': withEvents(async (bench) => {
    const { id } = bench.contract.names.webhookEvent
    const repeated = (await ladder(bench)).received
    const apart = new Set(repeated.map(({ envelope }) => envelope[id])).size
    const stable = judged(
      apart === 1 && repeated.length > 1,
      `${repeated.length} attempts of one delivery with ${apart} id`,
    )
    const shaped = overEvents(await everyBulkEvent(bench), 'UUIDs equal to the header', ({ envelope, received }) =>
      unless(isUuid(envelope[id]) && envelope[id] === signedOf(bench, received).id, id, envelope[id]),
    )
    return together(shaped, stable)
  }),
  'envelope/type': member('webhookEvent', 'type', 'a topic', (value, { webhookTopics }) =>
    isOneOf(webhookTopics, value),
  ),
  'envelope/timestamp': member('webhookEvent', 'timestamp', 'UTC with milliseconds', isTimestamp),
  'envelope/data': member('webhookEvent', 'data', 'objects', isObject),
  'bulk-event/correlation-id': withEvents(async (bench) => {
    const { correlationId } = bench.contract.names.bulkEvent
    const { runs } = await searches(bench)
    const events = await everyBulkEvent(bench)
    const shaped = overEvents(events, 'UUIDs', ({ data }) => memberFault(data, correlationId, isUuid))
    const ours = events.some(({ data }) => data[correlationId] === runs.calculators.correlationId)
    return together(
      shaped,
      judged(ours, ours ? 'our search among them' : 'our search is not among them'),
      await readableTasks(bench),
    )
  }),
  'bulk-event/task-kind': withEvents(async (bench) => {
    const { taskKind } = bench.contract.names.bulkEvent
    const kinds: unknown[] = Object.values(bench.contract.taskNames).map(({ kind }) => kind)
    const known = overEvents(await everyBulkEvent(bench), 'kinds of the contract', ({ data }) =>
      memberFault(data, taskKind, (value) => kinds.includes(value)),
    )
    return together(known, await asOnTask(bench, taskKind, ({ kind }) => kind))
  }),
  'bulk-event/request-type': withEvents(async (bench) => {
    const { requestType, correlationId } = bench.contract.names.bulkEvent
    const { runs } = await searches(bench)
    const expected = bench.contract.taskNames.calculatorsSearch.requestType
    const ofSearch = (await everyBulkEvent(bench)).filter(
      ({ data }) => data[correlationId] === runs.calculators.correlationId,
    )
    const search = overEvents(ofSearch, expected, ({ data }) =>
      memberFault(data, requestType, (value) => value === expected),
    )
    const { kind } = bench.contract.taskNames.companyMappings
    const others = await asOnTask(bench, requestType, (task) => (task.kind === kind ? null : task.type))
    return together(search, others, await ofMapping(bench))
  }),
  'bulk-event/status': member('bulkEvent', 'status', 'statuses of the task endpoint', (value, { taskStatuses }) =>
    isOneOf(taskStatuses, value),
  ),
  'bulk-event/profile-id': withEvents(async (bench) => {
    const { profileId } = bench.contract.names.bulkEvent
    const events = await everyBulkEvent(bench)
    const profiles = [...new Set(events.map(({ data }) => data[profileId]))]
    const shaped = overEvents(events, 'integers', ({ data }) => memberFault(data, profileId, Number.isInteger))
    return together(shaped, judged(profiles.length === 1, `profile ${profiles.map(said).join(', ')}`))
  }),
  'bulk-event/api-key-id': withEvents(async (bench) => {
    const { apiKeyId } = bench.contract.names.bulkEvent
    const sibling = await siblingSearch(bench)
    const events = await eventsWithRuns(bench)
    const ours = events.filter(({ run }) => run !== null && run.correlationId !== sibling?.correlationId)
    const keys = new Set(ours.map(({ event }) => event.data[apiKeyId]))
    const shaped = overEvents(await everyBulkEvent(bench), 'UUIDs', ({ data }) => memberFault(data, apiKeyId, isUuid))
    return together(shaped, judged(keys.size === 1, `requests of one key name ${keys.size}`))
  }),
  'application-event/application-id': givenEvents(
    changeApplication,
    ({ statusEvents, answersEvents, applicationId }, bench) => {
      const name = bench.contract.names.applicationEvent.applicationId
      return overEvents([...statusEvents, ...answersEvents], 'the application', ({ data }) =>
        memberFault(data, name, (value) => isUuid(value) && value === applicationId),
      )
    },
  ),
  'application-event/status': givenEvents(changeApplication, ({ statusEvents, answersEvents }, bench) => {
    const { status } = bench.contract.names.applicationEvent
    const named = overEvents(statusEvents, 'names', ({ data }) =>
      memberFault(data, status, (value) => typeof value === 'string'),
    )
    return together(
      named,
      overEvents(answersEvents, 'null', ({ data }) => memberFault(data, status, (value) => value === null)),
    )
  }),
  'application-event/profile-id': givenEvents(changeApplication, async ({ statusEvents, answersEvents }, bench) => {
    const { profileId } = bench.contract.names.applicationEvent
    const own = (await everyBulkEvent(bench))[0]?.data[profileId]
    const events = [...statusEvents, ...answersEvents]
    const owners = new Set(events.map(({ data }) => data[profileId]))
    const shaped = overEvents(events, `the certifier, not ${said(own)}`, ({ data }) =>
      memberFault(data, profileId, (value) => Number.isInteger(value) && value !== own),
    )
    return together(shaped, judged(owners.size === 1, `events of one application name ${owners.size} profiles`))
  }),
  'envelope/test': givenEvents(testButton, ({ event, eventId }, bench) => {
    if (event === null) return judged(false, 'no test delivery came')
    const names = bench.contract.names.bulkEvent
    const { data } = event
    const rest = [names.taskKind, names.requestType, names.profileId, names.apiKeyId].map((name) => data[name])
    const kept =
      data[names.status] === 'Test' && data[names.correlationId] === eventId && rest.every((value) => value === null)
    return judged(kept, JSON.stringify(data).slice(0, 160))
  }),
  'envelope/pointer': withEvents(async (bench) => {
    const { correlationId, status } = bench.contract.names.bulkEvent
    const { runs } = await searches(bench)
    const events = (await eventsOf(bench, runs.calculators)).map(({ data }) => data)
    const members = new Set(events.flatMap((data) => Object.keys(data)))
    const known = new Set<string>(Object.values(bench.contract.names.bulkEvent))
    const answer = await bench.wire.call(bench.contract.endpoints.task, {
      id: textOf(events[0]?.[correlationId]) ?? 'none',
    })
    const told = at(answer.json, bench.contract.names.task.status)
    const kept = [...members].every((member) => known.has(member)) && events.some((data) => data[status] === told)
    return judged(kept, `nothing but ${[...members].join(', ')}; our side: the task was read, ${answer.status}`)
  }),

  'application-event/folding': givenEvents(changeApplication, async ({ foldedEvents, answersEvents }) =>
    judged(
      foldedEvents.length === 1 && answersEvents.length === 2,
      `two changes before a dispatch: ${foldedEvents.length} event; a later one: ${answersEvents.length - foldedEvents.length} more`,
    ),
  ),
  'application-event/echo': givenEvents(changeApplication, ({ statusEvents, set }, bench) => {
    const { status } = bench.contract.names.applicationEvent
    const byApi = set.filter(({ by }) => by === 'api').map((one) => one.status)
    const echoed = statusEvents.filter(({ data }) => byApi.includes(said(data[status])))
    return judged(
      echoed.length === byApi.length,
      `${echoed.length} of ${byApi.length} changes by the API came back to their owner`,
    )
  }),
}

/** What a member of every event must be: of its envelope, or of its data. */
function member<Message extends 'webhookEvent' | 'bulkEvent'>(
  message: Message,
  field: keyof Contract['names'][Message] & string,
  seen: string,
  isRight: (value: unknown, contract: Contract) => boolean,
): Check {
  return everyEvent(seen, ({ envelope, data }, { contract }) => {
    const names: Readonly<Record<string, string>> = contract.names[message]
    const holder = message === 'webhookEvent' ? envelope : data
    return memberFault(holder, names[field] ?? '', (value) => isRight(value, contract))
  })
}

function isOneOf(values: Readonly<Record<string, unknown>>, value: unknown): boolean {
  return Object.values(values).includes(value)
}

function isTimestamp(value: unknown): boolean {
  const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
  return typeof value === 'string' && shape.test(value) && !Number.isNaN(Date.parse(value))
}

/** What a member of each event must be by its task: as the task endpoint names it. */
async function asOnTask(
  bench: Bench,
  name: string,
  wanted: (task: ReturnType<typeof namesOf>) => string | null,
): Promise<Observation> {
  const faults = (await eventsWithRuns(bench)).flatMap(({ event, run }) => {
    const expected = run?.task ? wanted(namesOf(bench, run)) : null
    return expected === null || event.data[name] === expected
      ? []
      : [`${name} of a ${expected} is ${kindOf(event.data[name])}`]
  })
  return faultless([...new Set(faults)], 'as on their tasks')
}

/** Whatever an event names that was not sent here must be a task all the same: an event is there to be followed. */
async function readableTasks(bench: Bench): Promise<Observation> {
  const { correlationId } = bench.contract.names.bulkEvent
  const others = (await eventsWithRuns(bench)).filter(({ run }) => run === null)
  const ids = new Set(others.flatMap(({ event }) => textOf(event.data[correlationId]) ?? []))
  const faults: string[] = []
  for (const id of [...ids].filter(isUuid)) {
    const { status } = await bench.wire.call(bench.contract.endpoints.task, { id })
    if (status !== 200) faults.push(`the task ${id} answered ${status}`)
  }
  return faultless(faults, 'each of a task')
}

async function ofMapping(bench: Bench) {
  const hotel = bench.writing === null ? null : await findHotel(bench, bench.writing)
  if (hotel === null || typeof hotel === 'string') return notObserved('an event of a mapping needs leave to write')
  const { requestType } = bench.contract.names.bulkEvent
  const { run } = await writeMapping(bench, hotel)
  return overEvents(await eventsOf(bench, run), 'null for mappings', ({ data }) =>
    unless(data[requestType] === null, requestType, data[requestType]),
  )
}
