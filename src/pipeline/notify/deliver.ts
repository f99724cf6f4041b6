import { type Selectable, sql } from 'kysely'
import { request } from 'undici'
import type { Config } from '../../config/schema.ts'
import { storableText } from '../../db/storable.ts'
import type { NotificationTable } from '../../db/tables/notification-tables.ts'
import type { Deps } from '../deps.ts'
import { hasLasted, tellAgainInMs } from '../when-to-look.ts'
import { bodyOf } from './formats.ts'
import type { Message } from './message.ts'

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
  const error = isPast
    ? (due.error ?? 'it was not sent in time')
    : await failureOf(deps.config.notify, due.message as Message, signal)
  const nextAt = isPast ? null : new Date(deps.now().getTime() + tellAgainInMs(due.attempts))
  await deps.db
    .updateTable('notification')
    .set(
      error === null
        ? { next_at: null, told_at: deps.now(), error: null }
        : { next_at: nextAt, error: storableText(error) },
    )
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
  | Pick<Selectable<NotificationTable>, 'notification_id' | 'event' | 'message' | 'attempts' | 'created_at' | 'error'>
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
    returning notification_id, event, message, attempts, created_at, error`.execute(deps.db)
  return rows[0]
}

/** Why a message did not reach its receiver, without the address, which is a secret; null: it did. */
async function failureOf(
  settings: Config['notify'],
  message: Message,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const url = message.event === 'heartbeat' ? settings.heartbeatUrl : settings.url
  const name = message.event === 'heartbeat' ? 'notify.heartbeatUrl' : 'notify.url'
  return url === null ? `${name} is not set any more` : await send(url, name, message, settings.format, signal)
}

/**
 * Sends one message now.
 * @param name the setting that has the address, for the error.
 * @returns why it did not arrive; null if it did.
 */
export async function send(
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
