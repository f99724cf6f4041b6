import { type Selectable, sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { storableText } from '../../db/storable.ts'
import type { NotificationTable } from '../../db/tables/notification-tables.ts'
import type { Deps } from '../deps.ts'
import { hasLasted, tellAgainInMs } from '../when-to-look.ts'
import { channelsOf, type NotTaken } from './channels.ts'
import type { Message } from './message.ts'

/**
 * How long a message is tried: news of the night before last helps nobody, and a heartbeat says that all is well now.
 * Milliseconds.
 */
const giveUpAfterMs = { heartbeat: 3_600_000, message: 86_400_000 }

/** How long one call goes on with a backlog; the rest is for the next. Milliseconds. */
const mostMs = 30_000

/**
 * Sends what is due, oldest first, until nothing is or something does not arrive. A message is sent at least once: one
 * whose sender dies before it is stored as told is sent again. What a receiver refuses is tried later and later, not
 * before the time that it asked for (`Retry-After`), and given up after a day.
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

type Due = Pick<
  Selectable<NotificationTable>,
  'notification_id' | 'event' | 'message' | 'attempts' | 'created_at' | 'error' | 'taken_by' | 'held_off'
>

/** @returns false when nothing is due, or what was due did not arrive. */
async function deliverOne(deps: Deps, signal: AbortSignal | undefined): Promise<boolean> {
  const due = await claim(deps)
  if (due === undefined) return false
  const about = { event: due.event, notification_id: due.notification_id, attempts: due.attempts }
  if (hasLasted(due.created_at, deps.now(), giveUpAfterMs[due.event === 'heartbeat' ? 'heartbeat' : 'message'])) {
    const error = due.error ?? 'it was not sent in time'
    await update(deps.db, due, { next_at: null, error })
    deps.logger.warn({ ...about, error, given_up: true }, 'notification_failed')
    return true
  }
  const { error, asked, ...news } = await attemptAll(deps, due, signal)
  if (error === null) {
    await update(deps.db, due, { ...news, next_at: null, told_at: deps.now(), error })
    deps.logger.info(about, 'notification_sent')
    return true
  }
  await update(deps.db, due, { ...news, error, attempts: asked ? due.attempts : due.attempts - 1 })
  // Where nobody was asked, nothing went wrong, and the next message may have another receiver.
  if (!asked) return true
  deps.logger.warn({ ...about, error, given_up: false }, 'notification_failed')
  return false
}

type News = { next_at?: Date | null; told_at?: Date; attempts?: number; error: string | null } & Partial<
  Pick<Due, 'taken_by' | 'held_off'>
>

async function update(
  db: Database,
  { notification_id }: Pick<Due, 'notification_id'>,
  { held_off, error, ...news }: News,
): Promise<void> {
  await db
    .updateTable('notification')
    .set({
      ...news,
      error: error === null ? null : storableText(error),
      ...(held_off !== undefined && { held_off: JSON.stringify(held_off) }),
    })
    .where('notification_id', '=', notification_id)
    .execute()
}

/** Takes the oldest message that is due: none overtakes an earlier one, but a heartbeat waits for nobody. */
async function claim(deps: Deps): Promise<Due | undefined> {
  const { rows } = await sql<Due>`
    update notification set attempts = attempts + 1, next_at = ${new Date(deps.now().getTime() + claimMs)}
    where notification_id = (
      select notification_id from notification n
      where next_at <= ${deps.now()} and (event = 'heartbeat' or not exists (
        select from notification earlier
        where earlier.job = n.job and earlier.notification_id < n.notification_id
          and earlier.event <> 'heartbeat' and earlier.next_at is not null))
      order by notification_id limit 1 for update skip locked)
    returning notification_id, event, message, attempts, created_at, error, taken_by, held_off`.execute(deps.db)
  return rows[0]
}

/** Until when each receiver asked to be left alone, with whatever message it was asked. */
async function holds(db: Database): Promise<Map<string, Date>> {
  const { rows } = await sql<{ name: string; until: Date }>`
    select name, max(until::timestamptz) as until
    from notification cross join jsonb_each_text(held_off) as held (name, until)
    where next_at is not null group by name`.execute(db)
  return new Map(rows.map(({ name, until }) => [name, until]))
}

/** What came of an attempt: `asked` is false if every receiver that lacks the message had asked to be left alone. */
type Attempt = { error: string | null; asked: boolean; next_at: Date; taken_by: string[]; held_off: Due['held_off'] }

/**
 * Sends to each receiver that has not taken the message yet and may be asked. Each has its own time for the next
 * attempt, and the earliest counts. The error does not name an address, which is a secret.
 */
async function attemptAll(deps: Deps, due: Due, signal: AbortSignal | undefined): Promise<Attempt> {
  const channels = channelsOf(deps.config.notify, due.event === 'heartbeat')
  const held = await holds(deps.db)
  const taken = [...due.taken_by]
  const heldOff = { ...due.held_off }
  const missed: (NotTaken & { nextAt: Date })[] = []
  let asked = false
  for (const { name, send } of channels.filter((channel) => !taken.includes(channel.name))) {
    const until = held.get(name)
    if (until !== undefined && until > deps.now()) {
      missed.push({ error: due.error ?? `the receiver of ${name} asked to be left alone`, nextAt: until })
      continue
    }
    asked = true
    const refused = await send(due.message as Message, signal)
    if (refused === null) {
      taken.push(name)
      continue
    }
    const nextAt = new Date(deps.now().getTime() + Math.max(tellAgainInMs(due.attempts), refused.holdMs ?? 0))
    if (refused.holdMs !== undefined) heldOff[name] = nextAt.toISOString()
    missed.push({ ...refused, nextAt })
  }
  const none = channels.length === 0
  return {
    error: none ? 'no receiver is set any more' : missed.length === 0 ? null : missed.map((m) => m.error).join('; '),
    asked: asked || none,
    next_at: new Date(
      missed.length === 0
        ? deps.now().getTime() + tellAgainInMs(due.attempts)
        : Math.min(...missed.map(({ nextAt }) => nextAt.getTime())),
    ),
    taken_by: taken,
    held_off: heldOff,
  }
}
