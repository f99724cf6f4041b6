import { type Selectable, sql, type Transaction } from 'kysely'
import { carriesData, night } from '../../config/known-names.ts'
import type { Config } from '../../config/schema.ts'
import { storableJson } from '../../db/copy-text.ts'
import type { Database } from '../../db/database.ts'
import { carriedThrough, isPart, isWhole } from '../../db/runs/newest-runs.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { NotificationEvent, NotificationMarkTable, RunTable } from '../../db/tables/run-tables.ts'
import type { Deps } from '../deps.ts'
import { destinationInUse } from '../destination/find-destination.ts'
import { hasLasted } from '../when-to-look.ts'
import { channelsOf } from './channels.ts'
import { type Amounts, amountsOf, type EndedRun, judgeEnd, type Known, leastOf } from './judge-end.ts'
import { type Message, messageOfEnd, messageOfLate, messageOfSlow, type SlowRun } from './message.ts'

/** Begins to judge the ends of a job's runs with the next one: of what ended before, nobody is told. */
export async function beginNoting(db: Database, job: string): Promise<void> {
  await sql`
    insert into notification_mark (job, run_id)
    select ${job}, coalesce(max(run_id) filter (where state <> 'running'), 0) from run where job = ${job}
    on conflict do nothing`.execute(db)
}

/** How long the end of a run is news. Milliseconds. */
const newsMs = 86_400_000

/**
 * Judges every run that has ended since the last time, in order, and stores what people are to be told of it. Any
 * process may do it at any time: the mark's row is locked meanwhile, so each end is judged once, and one that finds it
 * locked leaves the rest to the other.
 */
export async function noteEnds(deps: Deps, job: string): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const mark = await lockedMark(trx, job)
    if (mark === undefined) return
    const ended = await trx
      .selectFrom('run')
      .select(['run_id', 'verdict', 'finished_at'])
      .where('job', '=', job)
      .where('run_id', '>', mark.run_id)
      .where('state', 'in', ['finished', 'failed'])
      .orderBy('run_id')
      .execute()
    for (const { run_id, verdict, finished_at } of ended) {
      // Nobody is told of what is long past: of nights before a receiver was named again, for instance.
      const isPast = finished_at === null || hasLasted(finished_at, deps.now(), newsMs)
      if (verdict === null || isPast) continue
      // One at a time: a report is large, and there may be a day of them.
      const { asked, report, ...run } = await trx
        .selectFrom('run')
        .innerJoin('destination', 'destination.destination_id', 'run.destination_id')
        .select(['run_id', 'job', 'failure', 'report', 'finished_at', 'asked', 'held', 'carried'])
        .select('run.destination_id')
        .select('destination.name as destination')
        .where('run_id', '=', run_id)
        .executeTakeFirstOrThrow()
      await noteEnd(deps, trx, { ...run, verdict, part: isPart({ asked }), report: report as EndedRun['report'] })
    }
    const last = ended.at(-1)
    if (last === undefined) return
    await trx.updateTable('notification_mark').set({ run_id: last.run_id }).where('job', '=', job).execute()
  })
}

type NotedRun = EndedRun & Pick<Selectable<RunTable>, 'destination_id' | 'held' | 'carried'>

async function noteEnd(deps: Deps, trx: Transaction<Schema>, run: NotedRun): Promise<void> {
  const { notify } = deps.config
  const { untold, ...known } = await knownOf(trx, run)
  const judged = judgeEnd(run, known, notify)
  const amounts = amountsOf(run, notify)
  const goesOn = judged !== null && judged.cause === untold?.cause && judged.event !== 'recovered'
  if (goesOn && isWanted(deps, judged.event)) {
    await replace(deps, trx, untold.notification_id, messageOfEnd(run, judged), amounts)
  } else if (judged !== null) {
    await store(deps, trx, run, { ...judged, message: messageOfEnd(run, judged), amounts })
  } else if (known.measured !== null && !run.part) {
    // It goes on. What has shrunk meanwhile is told again if it grows from there.
    await trx
      .updateTable('notification')
      .set({ amounts: JSON.stringify(leastOf(known.measured.amounts, amounts)) })
      .where('notification_id', '=', known.measured.notification_id)
      .execute()
  }
  const beats = notify.heartbeatUrl !== null && isBeat(deps.config, run.job)
  if (run.verdict !== 'failed' && !run.part && carriedThrough(run) && beats) {
    const message = { ...messageOfEnd(run, { event: 'recovered', cause: '' }), event: 'heartbeat' as const }
    const since = run.finished_at ?? deps.now()
    await store(deps, trx, run, { event: 'heartbeat', cause: 'heartbeat', message, since })
  }
}

/**
 * Whether the monitor hears of the ends of a job: of the night alone where it has a schedule, so that no other job
 * hides that it fails or never begins; else of every job that carries data.
 */
function isBeat({ jobs }: Config, job: string): boolean {
  return jobs[night].schedule !== null ? job === night : carriesData(job)
}

/**
 * Notes that no run of a job has ended for a moment at which one was due, once for each moment.
 * @param due the last moment at which the schedule asked for a run.
 */
export async function noteLate(deps: Deps, job: string, due: Date): Promise<void> {
  const { lateAfterMs } = deps.config.notify
  const now = deps.now()
  if (lateAfterMs === 0 || now.getTime() - due.getTime() < lateAfterMs) return
  await deps.db.transaction().execute(async (trx) => {
    const mark = await lockedMark(trx, job)
    if (mark === undefined) return
    const { since, late_for } = await takeBackAhead(trx, job, mark, now)
    if (due <= since || (late_for !== null && due <= late_for)) return
    const runs = await trx
      .selectFrom('run')
      .select(['run_id', 'state'])
      .where('job', '=', job)
      .where((where) =>
        where.or([
          where.and([where.between('scheduled_for', due, now), where('state', 'in', ['finished', 'failed']), isWhole]),
          where('state', '=', 'running'),
        ]),
      )
      .orderBy('run_id')
      .execute()
    if (runs.some(({ state }) => state !== 'running')) return
    const underWay = runs.at(-1)?.run_id ?? null
    const here = await destinationInUse(trx)
    const message = { ...messageOfLate(job, due, underWay), destination: here.name }
    await store(deps, trx, here, { event: 'late', cause: 'late', message })
    await trx.updateTable('notification_mark').set({ late_for: due }).where('job', '=', job).execute()
  })
}

/** The mark without what a clock that was ahead has noted: what lies ahead of now. */
async function takeBackAhead(
  trx: Transaction<Schema>,
  job: string,
  { since, late_for }: { since: Date; late_for: Date | null },
  now: Date,
): Promise<{ since: Date; late_for: Date | null }> {
  const right = {
    since: since > now ? now : since,
    late_for: late_for !== null && late_for > now ? null : late_for,
  }
  if (right.since !== since || right.late_for !== late_for) {
    await trx.updateTable('notification_mark').set(right).where('job', '=', job).execute()
  }
  return right
}

/**
 * Notes that a run will end after its deadline, once for each run.
 * @param endsAt when it will at this speed; null: the deadline has passed, and nobody can tell.
 */
export async function noteSlow(deps: Deps, run: SlowRun): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const mark = await lockedMark(trx, run.job)
    if (mark === undefined || (mark.slow_run ?? 0) >= run.run_id) return
    const here = await destinationInUse(trx)
    const message = { ...messageOfSlow(run), destination: here.name }
    await store(deps, trx, here, { event: 'slow', cause: 'slow', message })
    await trx.updateTable('notification_mark').set({ slow_run: run.run_id }).where('job', '=', run.job).execute()
  })
}

async function lockedMark(
  trx: Transaction<Schema>,
  job: string,
): Promise<
  (Pick<Selectable<NotificationMarkTable>, 'run_id' | 'late_for' | 'slow_run'> & { since: Date }) | undefined
> {
  return await trx
    .selectFrom('notification_mark')
    .select(['run_id', 'late_for', 'slow_run', 'since'])
    .where('job', '=', job)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

/** Trouble of which nobody was told yet, and the message that is to tell it. */
type Untold = { notification_id: number; cause: string }

type Measured = NonNullable<Known['measured']> & { notification_id: number }

/**
 * What people know of a job at this destination. Trouble that they were told of, or are about to be, stands until the
 * job is well; that a run was late or slow counts only where nothing else stands: it says nothing about how the run
 * ends. Trouble of which nobody was told, because the message was given up or not wanted, ends no other, but after it
 * the other is news again. So is trouble of which they are only about to be told: its message may be given up first.
 */
async function knownOf(
  trx: Transaction<Schema>,
  { job, destination_id }: { job: string; destination_id: number },
): Promise<Known & { untold: Untold | null; measured: Measured | null }> {
  const noted = trx
    .selectFrom('notification')
    .select(['notification_id', 'event', 'cause', 'told_at', 'next_at', 'amounts'])
    .where('job', '=', job)
    .where('destination_id', '=', destination_id)
    .where('event', '<>', 'heartbeat')
    .orderBy('notification_id', 'desc')
    .limit(1)
  const heard = noted.where((where) =>
    where.or([where('event', '=', 'recovered'), where('told_at', 'is not', null), where('next_at', 'is not', null)]),
  )
  const ofTime = ['late', 'slow'] as const
  const newest = await noted.where('event', 'not in', ofTime).executeTakeFirst()
  const trouble = await heard.where('event', 'not in', ofTime).executeTakeFirst()
  const last = await heard.executeTakeFirst()
  const known = await heard
    .where('event', 'not in', ofTime)
    .where((where) => where.or([where('event', '=', 'recovered'), where('told_at', 'is not', null)]))
    .executeTakeFirst()
  const knownCause = causeOf(known)
  const cause = causeOf(newest)
  const waits = newest !== undefined && newest.told_at === null && newest.next_at !== null
  return {
    told: causeOf(trouble) ?? (last?.event === 'late' || last?.event === 'slow' ? last.cause : null),
    newest: newest?.told_at == null ? null : cause,
    measured:
      known === undefined || knownCause === null
        ? null
        : { notification_id: known.notification_id, cause: knownCause, amounts: known.amounts ?? {} },
    untold: waits && cause !== null ? { notification_id: newest.notification_id, cause } : null,
  }
}

function causeOf(noted: { event: NotificationEvent; cause: string } | undefined): string | null {
  return noted === undefined || noted.event === 'recovered' ? null : noted.cause
}

/** The newest run is told instead of the one before, which ended in the same way, and for as long as any other. */
async function replace(
  deps: Deps,
  trx: Transaction<Schema>,
  notificationId: number,
  message: Message,
  amounts: Amounts,
): Promise<void> {
  const news = { run_id: message.run_id, message: storableJson(message), amounts: JSON.stringify(amounts) }
  await trx
    .updateTable('notification')
    .set({ ...news, created_at: deps.now() })
    .where('notification_id', '=', notificationId)
    .execute()
}

type Noted = { event: NotificationEvent; cause: string; message: Message; amounts?: Amounts; since?: Date }

async function store(
  deps: Deps,
  trx: Transaction<Schema>,
  { destination_id }: { destination_id: number },
  { event, cause, message, amounts, since = deps.now() }: Noted,
): Promise<void> {
  await trx
    .insertInto('notification')
    .values({
      job: message.job,
      run_id: message.run_id,
      event,
      destination_id,
      cause,
      message: storableJson(message),
      amounts: amounts === undefined ? null : JSON.stringify(amounts),
      created_at: since,
      next_at: isWanted(deps, event) ? deps.now() : null,
    })
    .execute()
}

function isWanted({ config: { notify } }: Deps, event: NotificationEvent): boolean {
  return event === 'heartbeat' || (channelsOf(notify).length > 0 && notify.on.includes(event))
}
