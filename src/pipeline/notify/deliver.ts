import { type Selectable, sql } from 'kysely'
import { request } from 'undici'
import type { Config } from '../../config/schema.ts'
import { storableText } from '../../db/storable.ts'
import type { NotificationTable } from '../../db/tables/notification-tables.ts'
import type { Deps } from '../deps.ts'
import { hasLasted, tellAgainInMs } from '../when-to-look.ts'
import { bodyOf } from './formats.ts'
import type { Message } from './message.ts'
import { isEmailSet, sendEmail } from './send-email.ts'

/** How long a receiver may take for each part of its answer. Milliseconds. */
const patienceMs = 10_000

/**
 * How long a message is tried: news of the night before last helps nobody, and a heartbeat says that all is well now.
 * Milliseconds.
 */
const giveUpAfterMs = { heartbeat: 3_600_000, message: 86_400_000 }

/** How long one call goes on with a backlog; the rest is for the next. Milliseconds. */
const mostMs = 30_000

/**
 * Sends what is due, oldest first, until nothing is or something does not arrive. A message is sent at least once: one
 * whose sender dies before it is stored as told is sent again. What a receiver refuses is tried later and later, and
 * given up after a day.
 * @param signal ends the call under way, which then counts as failed.
 */
export async function deliverDue(deps: Deps, signal?: AbortSignal): Promise<void> {
  const began = performance.now()
  while (signal?.aborted !== true && performance.now() - began < mostMs) {
    if (!(await deliverOne(deps, signal))) return
  }
}

/** Until a message whose sender died is sent by another. Milliseconds; longer than any attempt takes. */
const claimMs = 120_000

/** @returns false when nothing is due, or what was due did not arrive. */
async function deliverOne(deps: Deps, signal: AbortSignal | undefined): Promise<boolean> {
  const due = await claim(deps)
  if (due === undefined) return false
  const patience = giveUpAfterMs[due.event === 'heartbeat' ? 'heartbeat' : 'message']
  const isPast = hasLasted(due.created_at, deps.now(), patience)
  const attempt = isPast ? null : await attemptAll(deps.config.notify, due.message as Message, due.taken_by, signal)
  const error = attempt === null ? (due.error ?? 'it was not sent in time') : attempt.error
  const nextAt = isPast ? null : new Date(deps.now().getTime() + tellAgainInMs(due.attempts))
  await deps.db
    .updateTable('notification')
    .set({
      ...(error === null
        ? { next_at: null, told_at: deps.now(), error: null }
        : { next_at: nextAt, error: storableText(error) }),
      ...(attempt !== null && { taken_by: attempt.taken }),
    })
    .where('notification_id', '=', due.notification_id)
    .execute()
  const about = { event: due.event, notification_id: due.notification_id, attempts: due.attempts }
  if (error === null) deps.logger.info(about, 'notification_sent')
  else deps.logger.warn({ ...about, error, given_up: isPast }, 'notification_failed')
  return error === null || isPast
}

/** Takes the oldest message that is due: none overtakes an earlier one, but a heartbeat waits for nobody. */
async function claim(
  deps: Deps,
): Promise<
  | Pick<
      Selectable<NotificationTable>,
      'notification_id' | 'event' | 'message' | 'attempts' | 'created_at' | 'error' | 'taken_by'
    >
  | undefined
> {
  const { rows } = await sql<Selectable<NotificationTable>>`
    update notification set attempts = attempts + 1, next_at = ${new Date(deps.now().getTime() + claimMs)}
    where notification_id = (
      select notification_id from notification n
      where next_at <= ${deps.now()} and (event = 'heartbeat' or not exists (
        select from notification earlier
        where earlier.job = n.job and earlier.notification_id < n.notification_id
          and earlier.event <> 'heartbeat' and earlier.next_at is not null))
      order by notification_id limit 1 for update skip locked)
    returning notification_id, event, message, attempts, created_at, error, taken_by`.execute(deps.db)
  return rows[0]
}

/** Sends a message now, and says by its name whether a receiver did not take it: why; null: it did. */
type Channel = { name: string; send: (message: Message, signal?: AbortSignal) => Promise<string | null> }

/** The receivers of messages for people, or of heartbeats. Pure. */
export function channelsOf({ url, format, email, heartbeatUrl }: Config['notify'], heartbeat = false): Channel[] {
  const byHttp = (name: string, address: string): Channel => ({
    name,
    send: (message, signal) => send(address, name, message, format, signal),
  })
  if (heartbeat) return heartbeatUrl === null ? [] : [byHttp('notify.heartbeatUrl', heartbeatUrl)]
  return [
    ...(url === null ? [] : [byHttp('notify.url', url)]),
    ...(isEmailSet(email) ? [{ name: 'notify.email', send: (message: Message) => sendEmail(email, message) }] : []),
  ]
}

/** Sends to each receiver that has not taken the message yet. The error does not name an address, which is a secret. */
async function attemptAll(
  settings: Config['notify'],
  message: Message,
  taken: readonly string[],
  signal: AbortSignal | undefined,
): Promise<{ error: string | null; taken: string[] }> {
  const channels = channelsOf(settings, message.event === 'heartbeat')
  if (channels.length === 0) return { error: 'no receiver is set any more', taken: [...taken] }
  const now = [...taken]
  const errors = []
  for (const { name, send: sendNow } of channels.filter((channel) => !taken.includes(channel.name))) {
    const error = await sendNow(message, signal)
    if (error === null) now.push(name)
    else errors.push(error)
  }
  return { error: errors.length === 0 ? null : errors.join('; '), taken: now }
}

/**
 * Sends one message now.
 * @param name the setting that has the address, for the error.
 * @returns why it did not arrive; null if it did.
 */
async function send(
  url: string,
  name: string,
  message: Message,
  format: Config['notify']['format'],
  signal?: AbortSignal,
): Promise<string | null> {
  const patience = AbortSignal.timeout(3 * patienceMs)
  const timeouts = {
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
    signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
  }
  try {
    const { statusCode, body } = await (message.event === 'heartbeat'
      ? request(url, { method: 'GET', ...timeouts })
      : request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(bodyOf(message, format)),
          ...timeouts,
        }))
    await body.dump()
    return statusCode >= 200 && statusCode < 300 ? null : `the receiver of ${name} answered ${statusCode}`
  } catch (error) {
    const { code, message: said } = error as Error & { code?: string }
    return `the receiver of ${name} cannot be reached: ${(said === '' ? code : said)?.replaceAll(url, name) ?? code ?? ''}`
  }
}
