import { createHmac } from 'node:crypto'
import { createWebhookVerifier } from '../../exchange/webhook-signature.ts'
import type { Bench, TaskRun } from '../bench.ts'
import { findHotel } from '../evidence/hotel.ts'
import type { Received } from '../evidence/receiver.ts'
import { eventsAt, eventsOfTasks, type SeenEvent, setUp } from '../evidence/webhook-evidence.ts'
import { customHeader, flush, type OwnWebhook, webhooks } from '../evidence/webhook-set-up.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { writeMapping } from '../evidence/written-rest.ts'
import { faultless, judged, notObserved, type Observation } from '../observation.ts'
import { kindOf, textOf, type WireObject } from '../wire-json.ts'
import { type Check, givenEvents } from './check.ts'

/** Bulk events of the whole run, those of the written requests included where writing is allowed. */
export async function everyBulkEvent(bench: Bench): Promise<SeenEvent[]> {
  await writeWherePossible(bench)
  return eventsOfTasks(bench)
}

async function writeWherePossible(bench: Bench): Promise<void> {
  const hotel = bench.writing === null ? null : await findHotel(bench, bench.writing)
  if (hotel === null || typeof hotel === 'string') return
  await writeMapping(bench, hotel)
  await writeAnswers(bench, hotel)
}

/** A delivery's signed headers, by the contract's names. */
export function signedOf({ contract }: Pick<Bench, 'contract'>, { headers, body }: Received) {
  const names = contract.names.webhookHeaders
  return { id: headers[names.id], timestamp: headers[names.timestamp], signature: headers[names.signature], body }
}

/** Whether our own verifier takes a delivery, by the clock at which it came or another. */
export function verdictOn(
  bench: Pick<Bench, 'contract'>,
  webhook: OwnWebhook,
  received: Received,
  now = received.at,
): string {
  const verify = createWebhookVerifier(webhook.secrets, () => now)
  const verification = verify(signedOf(bench, received))
  return verification.verified ? 'verified' : verification.reason
}

/** The signature as the specification's words give it, computed here and not by the verifier. */
export function expectedSignature(bench: Pick<Bench, 'contract'>, secret: string, received: Received): string {
  const { id, timestamp } = signedOf(bench, received)
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`, 'utf8'), received.body])
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/** Every delivery that reached the main webhook must verify. */
export async function verifyAll(bench: Bench): Promise<Observation> {
  const opened = await setUp(bench)
  await eventsOfTasks(bench)
  const events = eventsAt(bench, opened, opened.main.path)
  const faults = events
    .map(({ received }) => verdictOn(bench, opened.main, received))
    .filter((verdict) => verdict !== 'verified')
  return faultless(faults, `all ${events.length} deliveries verify with our verifier`)
}

/** Every delivery that reached the main webhook must carry the custom header. */
export async function headerOnAll(bench: Bench): Promise<Observation> {
  const opened = await setUp(bench)
  await eventsOfTasks(bench)
  const events = eventsAt(bench, opened, opened.main.path)
  const carried = events.filter(({ received }) => received.headers[customHeader.name] === customHeader.value)
  return judged(
    events.length > 0 && carried.length === events.length,
    `the custom header on ${carried.length} of ${events.length} deliveries`,
  )
}

/** A fault of each event that has one; not observed without events. */
export function overEvents(
  events: readonly SeenEvent[],
  seen: string,
  fault: (event: SeenEvent) => string | null,
): Observation {
  if (events.length === 0) return notObserved('no such event came')
  return faultless([...new Set(events.flatMap((event) => fault(event) ?? []))], `${events.length} events: ${seen}`)
}

/** A check that looks for a fault of every bulk event. */
export function everyEvent(seen: string, fault: (event: SeenEvent, bench: Bench) => string | null): Check {
  return givenEvents(everyBulkEvent, (events, bench) => overEvents(events, seen, (event) => fault(event, bench)))
}

/** What stands in the place of what was expected. */
export function unless(kept: boolean, what: string, value: unknown): string | null {
  return kept ? null : `${what} is ${kindOf(value)}`
}

/** The members of an event's data and of an envelope that the specification names. */
export function memberFault(data: WireObject, name: string, isRight: (value: unknown) => boolean): string | null {
  return unless(isRight(data[name]), name, data[name])
}

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

/** Every kind of request that was sent must have been told of. */
export async function everyRequest(bench: Bench): Promise<Observation> {
  const runs = (await toldRuns(bench)).filter(({ task }) => task !== null)
  const told = new Set((await eventsWithRuns(bench)).map(({ run }) => run?.label))
  const labels = [...new Set(runs.map(({ label }) => label))]
  return faultless(
    labels.filter((label) => !told.has(label)).map((label) => `no event of a ${label}`),
    `events of ${labels.join(', ')}; a sandbox has no web application to send requests from`,
  )
}

/** Every bulk event with the request that it tells of; null: none that was sent here. */
export async function eventsWithRuns(bench: Bench): Promise<{ event: SeenEvent; run: TaskRun | null }[]> {
  const { correlationId } = bench.contract.names.bulkEvent
  const events = await everyBulkEvent(bench)
  const runs = new Map(bench.told.map((run) => [run.correlationId, run]))
  return events.map((event) => ({ event, run: runs.get(textOf(event.data[correlationId])) ?? null }))
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
  await everyBulkEvent(bench)
  const runs = [...bench.told]
  const opened = await webhooks(bench)
  if (typeof opened !== 'string') await flush(bench, opened.main)
  return runs
}
