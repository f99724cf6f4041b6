import { sql, type Transaction } from 'kysely'
import { type Actor, recordAction, recordOfHotels } from '../../db/actions/record-action.ts'
import { storableText } from '../../db/copy-text.ts'
import type { Database } from '../../db/database.ts'
import { isSuspended, lockSuspensions } from '../../db/ledger/suspended-hotels.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import { likePartnerIds } from '../../db/trace/trace-partner.ts'
import { ActionRefused } from '../deps.ts'

/** A person, and when they act. */
type By = { actor: Actor; at: Date }

/** Hotels that a person names, by the partner's ids, and whether such as the ledger does not know are meant as well. */
type Named = By & { hotels: readonly string[]; unknown: boolean }

/** Rows of a hotel that were on their way before it was suspended: their requests go on to their end. */
type OnTheWay = { partner_id: string; submission_id: number; stream: string }

type Suspended = {
  suspended: string[]
  /** Those that were suspended already: who did it and why stays. */
  already: string[]
  /** Of the hotels named: those of which nothing was ever read. */
  unknown: string[]
  on_the_way: OnTheWay[]
  /** Other hotels that are the same company of the service and go on being sent. */
  same_company: { partner_id: string; company_id: string; other: string }[]
}

/**
 * Suspends hotels: from here on no request is planned that carries a row of theirs. What is in flight goes on.
 * @throws {ActionRefused} `hotel_unknown`, unless such hotels are meant as well; nothing is suspended then.
 */
export async function suspendHotels(
  db: Database,
  { hotels, unknown, actor, at, reason: words }: Named & { reason: string },
): Promise<Suspended> {
  const named = namedOf(hotels)
  const reason = storableText(words)
  const done = await db.transaction().execute(async (trx) => {
    const strangers = await requireKnown(trx, named, unknown)
    await lockSuspensions(trx)
    const { rows } = await sql<{ partner_id: string }>`
      insert into suspended_hotel as known (partner_id, reason, suspended_by, suspended_at)
      select unnest(${named}::text[]), ${reason}, ${actor.user}, ${at}
      on conflict (partner_id) do update
      set reason = excluded.reason, suspended_by = excluded.suspended_by, suspended_at = excluded.suspended_at,
          resumed_by = null, resumed_at = null
      where known.resumed_at is not null
      returning partner_id`.execute(trx)
    const suspended = rows.map(({ partner_id }) => partner_id).sort()
    await recordOfHotels(trx, { verb: 'suspend', actor, at, asked: { reason }, result: 'suspended' }, suspended)
    return { suspended, already: without(named, suspended), unknown: strangers }
  })
  // Asked afterwards: what was planned before is seen by now.
  return { ...done, on_the_way: await onTheWay(db, named), same_company: await sameCompany(db, named) }
}

type Resumed = {
  resumed: string[]
  /** Those that were not suspended. */
  already: string[]
  unknown: string[]
}

/**
 * Resumes hotels, those that are outside a pilot by adding them to it: the next run sends what is pending of them, as
 * it is by then. A run that is under way has counted its rows and leaves them alone.
 * @throws {ActionRefused} `hotel_unknown`, for one that was not suspended by its id either.
 */
export async function resumeHotels(db: Database, { hotels, unknown, actor, at }: Named): Promise<Resumed> {
  const named = namedOf(hotels)
  return await db.transaction().execute(async (trx) => {
    await lockSuspensions(trx)
    const { rows } = await sql<{ partner_id: string }>`
      update suspended_hotel set resumed_by = ${actor.user}, resumed_at = ${at}
      where partner_id = any(${named}::text[]) and resumed_at is null
      returning partner_id`.execute(trx)
    const byId = rows.map(({ partner_id }) => partner_id)
    const others = without(named, byId)
    const strangers = await requireKnown(trx, others, unknown)
    const joined = (await runningPilot(trx)) === undefined ? [] : await joinPilot(trx, named, { actor, at })
    const resumed = [...new Set([...byId, ...joined])].sort()
    await recordOfHotels(trx, { verb: 'resume', actor, at, result: 'resumed' }, resumed)
    return { resumed, already: without(named, resumed), unknown: strangers }
  })
}

type Pilot = {
  hotels: string[]
  unknown: string[]
  on_the_way: number
}

/**
 * Begins a pilot, or changes the hotels of the one that is on: only they are sent, and all others are suspended, also
 * those that the partner adds later.
 * @throws {ActionRefused} `hotel_unknown`; `hotel_suspended` where one of them is suspended by its id.
 */
export async function beginPilot(
  db: Database,
  { hotels, unknown, actor, at, reason: words }: Named & { reason: string },
): Promise<Pilot> {
  const named = namedOf(hotels)
  const reason = storableText(words)
  const strangers = await db.transaction().execute(async (trx) => {
    const found = await requireKnown(trx, named, unknown)
    await lockSuspensions(trx)
    // As an array, because a statement takes no more than 65,535 parameters.
    const { rows: kept } = await sql<{ partner_id: string }>`
      select partner_id from suspended_hotel
      where partner_id = any(${named}::text[]) and resumed_at is null
      order by partner_id`.execute(trx)
    if (kept.length > 0) {
      const which = firstOf(kept.map(({ partner_id }) => partner_id))
      throw new ActionRefused(
        'hotel_suspended',
        `Nothing was changed: ${which} ${kept.length === 1 ? 'is' : 'are'} suspended. Resume ${kept.length === 1 ? 'it' : 'them'} first, or leave ${kept.length === 1 ? 'it' : 'them'} out`,
      )
    }
    await sql`
      delete from pilot_hotel member
      where not exists (select from unnest(${named}::text[]) as going (partner_id)
        where going.partner_id = member.partner_id)`.execute(trx)
    await joinPilot(trx, named, { actor, at })
    await sql`
      insert into pilot (reason, started_by, started_at) values (${reason}, ${actor.user}, ${at})
      on conflict (one) do update
      set reason = excluded.reason, started_by = excluded.started_by, started_at = excluded.started_at,
          ended_by = null, ended_at = null`.execute(trx)
    const asked = { hotels: named.join(', '), reason }
    await recordAction(trx, { verb: 'pilot', actor, at, rows: 0, asked, result: `${named.length} hotels go` })
    return found
  })
  const { rows } = await sql<{ hotels: number }>`
    select count(distinct partner_id) as hotels from held_property row where ${isSuspended()}`.execute(db)
  return { hotels: named, unknown: strangers, on_the_way: rows[0]?.hotels ?? 0 }
}

/**
 * Ends the pilot: the next run sends what is pending of all hotels, but for those that are suspended by their ids.
 * @throws {ActionRefused} `pilot_unknown` when none is on.
 */
export async function endPilot(db: Database, { actor, at }: By): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockSuspensions(trx)
    if ((await runningPilot(trx)) === undefined) throw new ActionRefused('pilot_unknown', 'No pilot is on')
    await trx.updateTable('pilot').set({ ended_by: actor.user, ended_at: at }).execute()
    await recordAction(trx, { verb: 'end-pilot', actor, at, rows: 0, result: 'ended' })
  })
}

/** Those of some hotels that are not among others. Pure. */
function without(hotels: readonly string[], others: readonly string[]): string[] {
  const left = new Set(others)
  return hotels.filter((id) => !left.has(id))
}

/** Each once, and in the order of their ids. Pure. */
function namedOf(hotels: readonly string[]): string[] {
  return [...new Set(hotels)].sort()
}

/**
 * Which of some hotels the ledger does not know; one that was suspended before it came was meant so already.
 * @throws {ActionRefused} `hotel_unknown` if there are any, unless such are meant as well.
 */
async function requireKnown(trx: Transaction<Schema>, hotels: readonly string[], unknown: boolean): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    select partner_id from unnest(${hotels}::text[]) as named (partner_id)
    where not exists (select from source_row where source_row.partner_id = named.partner_id)
      and not exists (select from suspended_hotel hotel where hotel.partner_id = named.partner_id)`.execute(trx)
  const strangers = rows.map(({ partner_id }) => partner_id)
  const [first] = strangers
  if (first === undefined || unknown) return strangers
  const { near, examples } = await likePartnerIds(trx, first)
  const meant = near.length > 0 ? `was ${near.join(' or ')} meant?` : examplesOf(examples)
  throw new ActionRefused(
    'hotel_unknown',
    `Nothing was changed: nothing was ever read of ${firstOf(strangers)}; ${meant} If ${strangers.length === 1 ? 'it is an id' : 'they are ids'} that the partner will have, say so`,
  )
}

/** So many names are in a sentence at most: somebody may name every hotel. */
const mostNamed = 20

/** The first names of a list, for a sentence. Pure. */
function firstOf(names: readonly string[]): string {
  const more = names.length - mostNamed
  return `${names.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function examplesOf(examples: readonly string[]): string {
  return examples.length === 0 ? 'nothing was read of any hotel yet.' : `ids are such as ${examples.join(', ')}.`
}

async function runningPilot(trx: Transaction<Schema>) {
  return await trx.selectFrom('pilot').select('started_at').where('ended_at', 'is', null).executeTakeFirst()
}

/**
 * Adds hotels to the pilot, those that are suspended now from the next run on.
 * @returns those that were not in it.
 */
async function joinPilot(trx: Transaction<Schema>, hotels: readonly string[], { actor, at }: By): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    insert into pilot_hotel (partner_id, joined_by, joined_at, from_next_run)
    select row.partner_id, ${actor.user}, ${at}, ${isSuspended()} from unnest(${hotels}::text[]) as row (partner_id)
    on conflict (partner_id) do nothing
    returning partner_id`.execute(trx)
  return rows.map(({ partner_id }) => partner_id)
}

/** Of which hotels rows are in flight, and in which requests. */
async function onTheWay(db: Database, hotels: readonly string[]): Promise<OnTheWay[]> {
  const { rows } = await sql<OnTheWay>`
    select partner_id, submission_id, stream from held_property
    where partner_id = any(${hotels}::text[]) order by partner_id, submission_id, stream`.execute(db)
  return rows
}

async function sameCompany(db: Database, hotels: readonly string[]): Promise<Suspended['same_company']> {
  const { rows } = await sql<Suspended['same_company'][number]>`
    select mapping.partner_id, mapping.company_id, row.partner_id as other
    from mapping join mapping row using (company_id)
    where mapping.partner_id = any(${hotels}::text[]) and row.partner_id <> mapping.partner_id
      and not ${isSuspended()}
    order by 1, 3`.execute(db)
  return rows
}
