import type { Bench } from '../bench.ts'
import type { Checks } from '../check.ts'
import { findHotel } from '../evidence/hotel.ts'
import { searches } from '../evidence/searches.ts'
import { eventsOf } from '../evidence/webhook-evidence.ts'
import { ladder, testButton } from '../evidence/webhook-trials.ts'
import { writeMapping } from '../evidence/written-rest.ts'
import { judged, notObserved, together } from '../observation.ts'
import type { IdOf } from '../outline/entry.ts'
import type { eventSections } from '../outline/event-sections.ts'
import { at, isObject, isUuid, said, textOf } from '../wire-json.ts'
import { memberFault, overEvents, signedOf, unless } from './event-faults.ts'
import { everyBulkEvent } from './every-event.ts'
import { withChanges } from './state-checks.ts'
import { withEvents } from './with-events.ts'

/** Specification, Events: envelope, data, application events. */
export const envelopeChecks: Checks<
  Extract<IdOf<typeof eventSections>, `${'envelope' | 'bulk-event' | 'application-event'}/${string}`>
> = {
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
  'envelope/type': withEvents(async (bench) => {
    const topics = new Set<unknown>(Object.values(bench.contract.webhookTopics))
    const { type } = bench.contract.names.webhookEvent
    return overEvents(await everyBulkEvent(bench), 'a topic', ({ envelope }) =>
      memberFault(envelope, type, (value) => topics.has(value)),
    )
  }),
  'envelope/timestamp': withEvents(async (bench) => {
    const { timestamp } = bench.contract.names.webhookEvent
    const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
    return overEvents(await everyBulkEvent(bench), 'UTC with milliseconds', ({ envelope }) =>
      memberFault(
        envelope,
        timestamp,
        (value) => typeof value === 'string' && shape.test(value) && !Number.isNaN(Date.parse(value)),
      ),
    )
  }),
  'envelope/data': withEvents(async (bench) => {
    const { data } = bench.contract.names.webhookEvent
    return overEvents(await everyBulkEvent(bench), 'objects', ({ envelope }) => memberFault(envelope, data, isObject))
  }),
  'bulk-event/correlation-id': withEvents(async (bench) => {
    const { correlationId } = bench.contract.names.bulkEvent
    const { runs } = await searches(bench)
    const events = await everyBulkEvent(bench)
    const shaped = overEvents(events, 'UUIDs', ({ data }) => memberFault(data, correlationId, isUuid))
    const ours = events.some(({ data }) => data[correlationId] === runs.calculators.correlationId)
    return together(shaped, judged(ours, ours ? 'our search among them' : 'our search is not among them'))
  }),
  'bulk-event/task-kind': withEvents(async (bench) => {
    const { taskKind } = bench.contract.names.bulkEvent
    const kinds = new Set<unknown>(Object.values(bench.contract.taskNames).map(({ kind }) => kind))
    return overEvents(await everyBulkEvent(bench), 'kinds of the contract', ({ data }) =>
      memberFault(data, taskKind, (kind) => kinds.has(kind)),
    )
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
    return together(search, await ofMapping(bench))
  }),
  'bulk-event/status': withEvents(async (bench) => {
    const { status } = bench.contract.names.bulkEvent
    const statuses = new Set<unknown>(Object.values(bench.contract.taskStatuses))
    return overEvents(await everyBulkEvent(bench), 'statuses of the task endpoint', ({ data }) =>
      memberFault(data, status, (value) => statuses.has(value)),
    )
  }),
  'bulk-event/profile-id': withEvents(async (bench) => {
    const { profileId } = bench.contract.names.bulkEvent
    const events = await everyBulkEvent(bench)
    const profiles = [...new Set(events.map(({ data }) => data[profileId]))]
    return overEvents(events, `profile ${profiles.join(', ')}`, ({ data }) =>
      memberFault(data, profileId, Number.isInteger),
    )
  }),
  'bulk-event/api-key-id': withEvents(async (bench) => {
    const { apiKeyId } = bench.contract.names.bulkEvent
    return overEvents(await everyBulkEvent(bench), 'UUIDs', ({ data }) => memberFault(data, apiKeyId, isUuid))
  }),
  'application-event/application-id': withChanges(async (bench, { statusEvents, answersEvents, applicationId }) => {
    const name = bench.contract.names.applicationEvent.applicationId
    return overEvents([...statusEvents, ...answersEvents], 'the application', ({ data }) =>
      memberFault(data, name, (value) => isUuid(value) && value === applicationId),
    )
  }),
  'application-event/status': withChanges(async (bench, { statusEvents, answersEvents }) => {
    const { status } = bench.contract.names.applicationEvent
    const named = overEvents(statusEvents, 'names', ({ data }) =>
      memberFault(data, status, (value) => typeof value === 'string'),
    )
    return together(
      named,
      overEvents(answersEvents, 'null', ({ data }) => memberFault(data, status, (value) => value === null)),
    )
  }),
  'application-event/profile-id': withChanges(async (bench, { statusEvents }) => {
    const { profileId } = bench.contract.names.applicationEvent
    const own = (await everyBulkEvent(bench))[0]?.data[profileId]
    return overEvents(statusEvents, `the certifier, not ${said(own)}`, ({ data }) =>
      memberFault(data, profileId, (value) => Number.isInteger(value) && value !== own),
    )
  }),
  'envelope/test': withEvents(async (bench) => {
    const { event, eventId } = await testButton(bench)
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

  'application-event/folding': withChanges(async (_bench, { foldedEvents, answersEvents }) =>
    judged(
      foldedEvents.length === 1 && answersEvents.length === 2,
      `two changes before a dispatch: ${foldedEvents.length} event; a later one: ${answersEvents.length - foldedEvents.length} more`,
    ),
  ),
  'application-event/echo': withChanges(async (bench, { statusEvents, set }) => {
    const { status } = bench.contract.names.applicationEvent
    const byApi = set.filter(({ by }) => by === 'api').map((one) => one.status)
    const echoed = statusEvents.filter(({ data }) => byApi.includes(said(data[status])))
    return judged(
      echoed.length === byApi.length,
      `${echoed.length} of ${byApi.length} changes by the API came back to their owner`,
    )
  }),
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
