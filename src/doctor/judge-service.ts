import { sql } from 'kysely'
import { hasStreams } from '../config/known-names.ts'
import type { Config } from '../config/schema.ts'
import { counted } from '../counted.ts'
import type { Database } from '../db/database.ts'
import type { Destination } from '../db/tables/service-tables.ts'
import { HttpError, TransportError } from '../exchange/errors.ts'
import type { CustomProperty, Group } from '../exchange/reference-data.ts'
import type { ProfileVerdict } from '../pipeline/destination/check-destination.ts'
import { addressOf, mayBeAt, mayBeNamedBy, placeOf } from '../pipeline/destination/find-destination.ts'
import { whyNoIdentifier } from '../pipeline/reference/usable-identifier.ts'
import { advice, error, type Found, ok, warning } from './ward.ts'

/** What looks wrong about a key before anybody is asked; null where nothing does. Names no part of it. Pure. */
export function keyTrouble(apiKey: string): string | null {
  if (/^(bearer|basic|token|apikey)\s/i.test(apiKey))
    return 'begins with a scheme, such as Bearer: the header is the key alone'
  if (/^["'].*["']$/.test(apiKey)) return 'stands in quotes, which are sent with it'
  if (/\s/.test(apiKey)) return 'holds a space or a line break'
  if (!/^[\x21-\x7e]+$/.test(apiKey)) return 'holds a character that no key has'
  return null
}

type KeyAnswer = {
  /** Why the cheapest call with the key failed; null where it did not. */
  error: unknown
  odd: string | null
  /** Since when the ledger takes the key for denied. */
  breaker: { since: Date } | null
  /** The proxy that leads to the service. */
  proxy: string | null
}

/** Whether the service is there and takes the key. Pure. */
export function judgeKey({ error: failure, odd, breaker, proxy }: KeyAnswer): Found[] {
  if (failure === null) {
    const well = ok('The service answers, and accepts the key')
    if (breaker === null) return [well]
    return [
      well,
      advice('the service denied the key earlier, and no run has called it since', 'start a run: nightferry jobs'),
    ]
  }
  const hint = odd === null ? '' : ` The key ${odd}.`
  const said = (failure as Error).message
  if (failure instanceof TransportError) {
    const way =
      proxy === null
        ? 'that this machine reaches it without a proxy (name, firewall, certificate), or set exchange.proxy'
        : 'exchange.proxy, and that the proxy leads there (user, name, firewall, certificate)'
    return [error(said, `check exchange.baseUrl, and ${way}`)]
  }
  if (!(failure instanceof HttpError))
    return [error(`${said}${hint}`, 'check exchange.baseUrl: something else answers there')]
  switch (failure.code) {
    case 'exchange_unauthorized':
    case 'exchange_forbidden':
      return [error(`${said}.${hint}`, 'set EXCHANGE_API_KEY to a key that was created as the profile to act as')]
    case 'exchange_not_found':
    case 'exchange_refused':
      return [error(`${said}.${hint}`, 'check exchange.baseUrl: it is the address without /api')]
    case 'exchange_throttled':
      return [warning(`${said}.`, 'wait, and lower exchange.requestsPerSecond if it happens again')]
    case 'exchange_failed':
      return [error(`${said}.`, 'wait and ask again; the trouble is at the service or in front of it')]
  }
}

/** What the configuration names beside what the key's profile has. Pure. */
export function judgeProfileUse(
  { exchange, pull, streams }: Config,
  groups: readonly Group[],
  properties: readonly CustomProperty[],
): Found[] {
  const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
  const identifiers = properties.filter((one) => whyNoIdentifier(one, streams) === null)
  const found = [
    ok(
      `The key's profile shows ${groups.length} ${groups.length === 1 ? 'group' : 'groups'} and ${properties.length} custom properties, ${identifiers.length} of them identifiers`,
    ),
  ]
  const id = exchange.customIdentifierId
  const property = properties.find((one) => id !== null && same(one.id, id))
  const choices = `set exchange.customIdentifierId to one of: ${namesOf(identifiers)}`
  if (id === null && !hasStreams({ streams })) found.push(ok('Nothing is sent, so no identifier is needed'))
  else if (id === null) found.push(error('exchange.customIdentifierId is not set', choices))
  else if (property === undefined)
    found.push(error(`exchange.customIdentifierId ${id} is none that this key can see`, choices))
  else {
    const why = whyNoIdentifier(property, streams)
    found.push(
      why === null
        ? ok(`Properties are named by "${property.name}"`)
        : error(`"${property.name}" (${id}) ${why}`, choices),
    )
  }

  const group = groups.find((one) => exchange.groupId !== null && same(one.id, exchange.groupId))
  const usable = `set exchange.groupId to one of: ${namesOf(groups)}`
  if (group !== undefined) found.push(ok(`Calculators go to the group "${group.name}"`))
  else if (exchange.groupId !== null)
    found.push(error(`exchange.groupId ${exchange.groupId} is no group of this key's profile`, usable))
  else if (streams.calculator_inputs || streams.calculator_settings)
    found.push(error('exchange.groupId is not set', usable))

  const unseen = pull.customPropertyIds.filter((wanted) => !properties.some((one) => same(one.id, wanted)))
  if (unseen.length > 0) {
    found.push(
      warning(
        `pull.customPropertyIds names what this key cannot see: ${unseen.join(', ')}`,
        'take them out, or use a key that sees them',
      ),
    )
  }
  return found
}

function namesOf(entries: readonly { id: string; name: string }[]): string {
  return entries.map(({ id, name }) => `${id} (${name})`).join(', ') || 'none; the profile has to make one first'
}

type DestinationUse = {
  inUse: Destination
  used: boolean
  configured: { baseUrl: string; customIdentifierId: string | null }
  /** Whose the key is; null where it is known already. */
  profile: ProfileVerdict | null
}

/** Whether the configuration points to where the ledger's rows were sent. Pure. */
export function judgeDestination({ inUse, used, configured, profile }: DestinationUse): Found[] {
  if (!used) return [ok('Nothing was sent yet, so any destination is right')]
  const place = placeOf(configured.baseUrl)
  const identifier = configured.customIdentifierId?.toLowerCase() ?? null
  const changed = [
    ...(mayBeAt(inUse, place) ? [] : [`the service was ${addressOf(inUse)} and is ${addressOf(place)}`]),
    ...(mayBeNamedBy(inUse, identifier) ? [] : ['the identifier is another']),
    ...(profile === null || profile.profile === 'same'
      ? []
      : [`the profile is ${profile.profile === 'other' ? 'another' : 'not to be told'}: ${profile.evidence}`]),
  ]
  if (changed.length === 0) return [ok(`The destination is the one that the ledger was sent to (${inUse.name})`)]
  return [
    error(
      `The destination is not the one that the ledger was sent to (${inUse.name}): ${changed.join('; ')}`,
      'nightferry destination',
    ),
  ]
}

type ItemCounts = {
  stream: string
  rejected: number
  invalid: number
  parked: number
  /** Of the parked rows: those whose hotel people have suspended. */
  suspended: number
  unknown: number
  held: number
}

/** The rows that the service does not have. Pure. */
export function judgeItems(all: readonly ItemCounts[]): Found[] {
  const streams = all.map((counts) => ({ ...counts, parked: counts.parked - counts.suspended }))
  const verbs = {
    rejected: ['was rejected by the service', 'were rejected by the service', 'nightferry rejected'],
    invalid: ['cannot be right and was not sent', 'cannot be right and were not sent', 'nightferry invalid'],
    unknown: [
      'has an outcome that nobody can tell; the next run sends it again',
      'have an outcome that nobody can tell; the next run sends them again',
      'nightferry unknown',
    ],
    held: ['was held by the guard', 'were held by the guard', 'nightferry runs, then nightferry approve <run>'],
    parked: ['waits for another row or request', 'wait for another row or request', 'nightferry parked'],
    suspended: ['is of a suspended hotel', 'are of suspended hotels', 'nightferry hotels'],
  } as const
  const found = (Object.keys(verbs) as (keyof typeof verbs)[]).flatMap((state) => {
    const total = streams.reduce((sum, counts) => sum + counts[state], 0)
    if (total === 0) return []
    const of = streams.filter((counts) => counts[state] > 0).map((counts) => `${counts.stream} ${counts[state]}`)
    const [one, several, verb] = verbs[state]
    const words = total === 1 ? `One row ${one}` : `${total} rows ${several}`
    const judged = state === 'parked' || state === 'suspended' ? advice : warning
    return [judged(`${words}: ${of.join(', ')}`, verb, state)]
  })
  return found.length > 0 ? found : [ok('No row is rejected, invalid, unknown, held or parked')]
}

/** Pure. */
export function judgeOpen(open: OpenSubmissions): Found[] {
  const { resolving, uncertain, first_uncertain, overdue, first_overdue } = open
  const found: Found[] = []
  if (overdue > 0) {
    found.push(
      warning(
        `${counted(overdue, 'task')} had not ended within exchange.taskPatienceMs when a run last looked`,
        `the next run looks again; if it never ends: docs/runbook.md, "A task that does not end", such as request ${first_overdue}`,
      ),
    )
  }
  if (uncertain > 0) {
    found.push(
      warning(
        `${counted(uncertain, 'request')} without an answer for longer than exchange.giveUpAfterMs: a task may have come of it or not`,
        `docs/runbook.md, "A request that is stuck", such as request ${first_uncertain}`,
      ),
    )
  }
  if (found.length > 0) return found
  return [
    ok(
      resolving === 0
        ? 'No request waits longer than it should'
        : `${counted(resolving, 'request')} without an answer since a short while: the list of tasks resolves it`,
    ),
  ]
}

/** Requests whose fate is open, and of those that are open for too long the first of each sort. */
type OpenSubmissions = {
  /** The answer was lost a short while ago. */
  resolving: number
  /** It was lost longer ago, or runs no longer wait for what may have come of it. */
  uncertain: number
  first_uncertain: number | null
  /** Runs no longer wait for its task. */
  overdue: number
  first_overdue: number | null
}

/** @param longAgo a request whose answer was lost before this is uncertain for too long. */
export async function countOpen(db: Database, longAgo: Date): Promise<OpenSubmissions> {
  const { rows } = await sql<OpenSubmissions>`
    select count(*) filter (where sort = 'resolving') as resolving,
           count(*) filter (where sort = 'uncertain') as uncertain,
           min(submission_id) filter (where sort = 'uncertain') as first_uncertain,
           count(*) filter (where sort = 'overdue') as overdue,
           min(submission_id) filter (where sort = 'overdue') as first_overdue
    from (
      select submission_id,
             case when submission.state <> 'uncertain' then 'overdue'
                  when overdue_since is null and uncertain_since >= ${longAgo} then 'resolving'
                  else 'uncertain' end as sort
      from submission join run using (run_id)
      where run.destination_id = destination_in_use()
        and (submission.state = 'uncertain'
          or (overdue_since is not null and submission.state in ('planned', 'sending', 'accepted', 'terminal')))
    ) open`.execute(db)
  return rows[0] ?? { resolving: 0, uncertain: 0, first_uncertain: null, overdue: 0, first_overdue: null }
}
