import { type RawBuilder, type Selectable, sql } from 'kysely'
import { storableText } from '../../db/copy-text.ts'
import type { Database } from '../../db/database.ts'
import type { NotificationTable } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'
import { nameWithoutSaying } from '../destination/find-destination.ts'
import { hasLasted, tellAgainInMs } from '../when-to-look.ts'
import { channelsOf, longestAskedMs, type NotTaken, type Receiver } from './channels.ts'
import type { Message } from './message.ts'

/**
 * How long a message is tried: news of the night before last helps nobody, and a heartbeat says that all is well now. A
 * message that is older is tried once more all the same: without a daemon the next night is the first to do so.
 * Milliseconds.
 */
const giveUpAfterMs = { heartbeat: 3_600_000, message: 86_400_000 }

/** How long one call goes on with a backlog; the rest is for the next. Milliseconds. */
const mostMs = 30_000

/**
 * Sends what is due, oldest first, until nothing is: what does not arrive keeps nothing else waiting. A message is sent
 * at least once: one whose sender dies before it is stored as told is sent again. What a receiver refuses is tried
 * later and later, not before the time that it asked for (`Retry-After`), and given up when it is refused after a day.
 * @param signal ends the call under way, which then counts as failed.
 */
export async function deliverDue(deps: Deps, signal?: AbortSignal): Promise<void> {
  const began = performance.now()
  await releaseFromReplaced(deps)
  await releaseFromAhead(deps)
  while (signal?.aborted !== true && performance.now() - began < mostMs) {
    if (!(await deliverOne(deps, signal))) return
  }
}

/** Until a message whose sender died is sent by another. Milliseconds; longer than any attempt takes. */
const claimMs = 120_000

type Due = Pick<
  Selectable<NotificationTable>,
  | 'notification_id'
  | 'job'
  | 'event'
  | 'message'
  | 'attempts'
  | 'created_at'
  | 'told_at'
  | 'error'
  | 'taken_by'
  | 'held_off'
>

/** @returns false when nothing is due. */
async function deliverOne(deps: Deps, signal: AbortSignal | undefined): Promise<boolean> {
  const due = await claim(deps)
  if (due === undefined) return false
  const about = { event: due.event, notification_id: due.notification_id, attempts: due.attempts }
  const isHeartbeat = due.event === 'heartbeat'
  const isOld = hasLasted(due.created_at, deps.now(), giveUpAfterMs[isHeartbeat ? 'heartbeat' : 'message'])
  if (isOld && isHeartbeat) {
    const error = due.error ?? 'it was not sent in time'
    if (!(await giveUp(deps.db, due, error))) return true
    deps.logger.warn({ ...about, error, given_up: true }, 'notification_failed')
    return true
  }
  const { error, refused, ...news } = await attemptAll(deps, due, signal)
  if (error === null) {
    await update(deps.db, due, { ...news, next_at: null, told_at: due.told_at ?? deps.now(), error })
    deps.logger.info(about, 'notification_sent')
    return true
  }
  // Those who took it know of it, whatever becomes of the others.
  const isTold = news.taken_by.length > 0
  await update(deps.db, due, {
    ...news,
    ...(isTold && { told_at: due.told_at ?? deps.now() }),
    error,
    attempts: refused ? due.attempts : due.attempts - 1,
  })
  // Where nobody refused, nothing went wrong.
  if (!refused) return true
  const given_up = isOld && (await giveUp(deps.db, due, error))
  deps.logger.warn({ ...about, error, given_up }, 'notification_failed')
  return true
}

/** @returns false when the message tells of a newer run since it was taken, and is to be tried for longer. */
async function giveUp(db: Database, { notification_id, created_at }: Due, error: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('notification')
    .set({ next_at: null, error: storableText(error) })
    .where('notification_id', '=', notification_id)
    // What comes back as a Date has lost its microseconds.
    .where('created_at', '<', new Date(created_at.getTime() + 1))
    .executeTakeFirst()
  return numUpdatedRows > 0n
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

/** What waits because of receivers alone that are not set any more, or at another address, is due at once. */
async function releaseFromReplaced({ db, config, now }: Deps): Promise<void> {
  const channels = [...channelsOf(config.notify), ...channelsOf(config.notify, true)]
  const receivers = channels.flatMap((channel) => channel.receivers.map(({ receiver }) => receiver))
  await sql`
    update notification set next_at = ${now()}, held_off = '{}'
    where next_at > ${now()} and held_off <> '{}' and not held_off ?| ${receivers}::text[]`.execute(db)
}

/** What waits longer than anything is made to was put off by a clock that was ahead, and is due at once. */
async function releaseFromAhead({ db, now }: Deps): Promise<void> {
  await sql`
    update notification set next_at = ${now()}, created_at = least(created_at, ${now()}), held_off = '{}'
    where next_at > ${new Date(now().getTime() + longestAskedMs)}`.execute(db)
}

/** The messages of the job before one that its receiver `name` lacks: none overtakes an earlier one at any receiver. */
function lackedBefore(name: RawBuilder<unknown>, job: RawBuilder<unknown>, id: RawBuilder<unknown>) {
  return sql`
    from notification earlier
    where earlier.job = ${job} and earlier.notification_id < ${id} and earlier.event <> 'heartbeat'
      and earlier.next_at is not null and not ${name} = any(earlier.taken_by)`
}

/**
 * Takes the oldest message that is due and has a receiver whose turn it is, or none at all any more: a receiver that
 * does not answer keeps no other waiting. A heartbeat waits for nobody.
 */
async function claim(deps: Deps): Promise<Due | undefined> {
  const names = channelsOf(deps.config.notify).flatMap(({ receivers }) => receivers.map(({ name }) => name))
  const before = lackedBefore(sql`name`, sql`n.job`, sql`n.notification_id`)
  const { rows } = await sql<Due>`
    update notification set attempts = attempts + 1, next_at = ${new Date(deps.now().getTime() + claimMs)}
    where notification_id = (
      select notification_id from notification n
      -- One that all have taken ends as well: who lacked it may have been taken out of the configuration.
      where next_at <= ${deps.now()} and (event = 'heartbeat' or ${names}::text[] <@ n.taken_by or exists (
        select from unnest(${names}::text[]) as receiver (name)
        where not name = any(n.taken_by) and not exists (select ${before})))
      order by notification_id limit 1 for update skip locked)
    returning notification_id, job, event, message, attempts, created_at, told_at, error, taken_by,
              held_off`.execute(deps.db)
  return rows[0]
}

/** When each receiver that lacks an earlier message of the job is asked to take that. */
async function turns(db: Database, { job, notification_id, event }: Due, names: string[]): Promise<Map<string, Date>> {
  if (event === 'heartbeat') return new Map()
  const { rows } = await sql<{ name: string; at: Date | null }>`
    select name, (select max(earlier.next_at) ${lackedBefore(sql`name`, sql`${job}`, sql`${notification_id}`)}) as at
    from unnest(${names}::text[]) as receiver (name)`.execute(db)
  return new Map(rows.flatMap(({ name, at }) => (at === null ? [] : [[name, at] as const])))
}

/** Until when each receiver asked to be left alone, with whatever message it was asked. */
async function askedWaits(db: Database): Promise<Map<string, Date>> {
  const { rows } = await sql<{ receiver: string; until: Date }>`
    select receiver, max(until::timestamptz) as until
    from notification cross join jsonb_each_text(held_off) as asked (receiver, until)
    where next_at is not null group by receiver`.execute(db)
  return new Map(rows.map(({ receiver, until }) => [receiver, until]))
}

/** What came of an attempt: `refused` if a receiver that was asked did not take the message. */
type Attempt = { error: string | null; refused: boolean; next_at: Date; taken_by: string[]; held_off: Due['held_off'] }

/** A receiver that has not taken a message, and when it is asked again. */
type Missed = NotTaken & { nextAt: Date }

/** The receivers that are not asked now, by name: those that asked for time, and those that lack an earlier message. */
async function leftAlone(deps: Deps, due: Due, receivers: readonly Receiver[]): Promise<Map<string, Missed>> {
  const waits = await askedWaits(deps.db)
  const names = receivers.map(({ name }) => name)
  const earlier = await turns(deps.db, due, names)
  const missed = new Map<string, Missed>()
  for (const { name, receiver } of receivers) {
    const until = waits.get(receiver)
    const turn = earlier.get(name)
    if (until !== undefined && until > deps.now()) {
      missed.set(name, { error: due.error ?? `the receiver of ${name} asked to be left alone`, nextAt: until })
    } else if (turn !== undefined) {
      missed.set(name, { error: `the receiver of ${name} has not taken an earlier message`, nextAt: turn })
    }
  }
  return missed
}

/**
 * Sends to each receiver that has not taken the message yet and may be asked. Each has its own time for the next
 * attempt, and the earliest counts. The error does not name an address that is a secret.
 */
async function attemptAll(deps: Deps, due: Due, signal: AbortSignal | undefined): Promise<Attempt> {
  const channels = channelsOf(deps.config.notify, due.event === 'heartbeat')
  const none = channels.length === 0
  const alone = await leftAlone(
    deps,
    due,
    channels.flatMap(({ receivers }) => receivers),
  )
  const taken = [...due.taken_by]
  const askedToWait = { ...due.held_off }
  const withoutSaying = await nameWithoutSaying(deps.db)
  const missed: Missed[] = []
  let refused = none
  for (const { receivers, send } of channels) {
    const lacking = receivers.filter(({ name }) => !taken.includes(name))
    missed.push(...lacking.flatMap(({ name }) => alone.get(name) ?? []))
    const asked = lacking.filter(({ name }) => !alone.has(name))
    if (asked.length === 0) continue
    const answers = await send(
      due.message as Message,
      asked.map(({ name }) => name),
      { signal, withoutSaying },
    )
    for (const { name, receiver } of asked) {
      const answer = answers.get(name)
      if (answer === undefined) {
        taken.push(name)
        continue
      }
      refused = true
      const nextAt = new Date(deps.now().getTime() + Math.max(tellAgainInMs(due.attempts), answer.askedMs ?? 0))
      if (answer.askedMs !== undefined) askedToWait[receiver] = nextAt.toISOString()
      missed.push({ ...answer, nextAt })
    }
  }
  const errors = new Set(missed.map(({ error }) => error))
  return {
    error: none ? 'no receiver is set any more' : missed.length === 0 ? null : [...errors].join('; '),
    refused,
    next_at: new Date(
      missed.length === 0
        ? deps.now().getTime() + tellAgainInMs(due.attempts)
        : Math.min(...missed.map(({ nextAt }) => nextAt.getTime())),
    ),
    taken_by: taken,
    held_off: askedToWait,
  }
}
