import { createHmac } from 'node:crypto'
import { createWebhookVerifier } from '../../exchange/webhook-signature.ts'
import type { Bench } from '../bench.ts'
import type { Received } from '../evidence/receiver.ts'
import { eventsAt, eventsOfTasks, type SeenEvent, setUp } from '../evidence/webhook-evidence.ts'
import type { OwnWebhook } from '../evidence/webhook-set-up.ts'
import { faultless, notObserved, type Observation } from '../observation.ts'
import { kindOf, type WireObject } from '../wire-json.ts'

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
  return faultless(faults, `all ${events.length} deliveries verify with our verifier, the custom header with each`)
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

/** What stands in the place of what was expected. */
export function unless(kept: boolean, what: string, value: unknown): string | null {
  return kept ? null : `${what} is ${kindOf(value)}`
}

/** The members of an event's data and of an envelope that the specification names. */
export function memberFault(data: WireObject, name: string, isRight: (value: unknown) => boolean): string | null {
  return unless(isRight(data[name]), name, data[name])
}
