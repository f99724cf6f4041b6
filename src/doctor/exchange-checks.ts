import { promisify } from 'node:util'
import { sql } from 'kysely'
import { requirementsOf } from '../config/require-settings.ts'
import type { Database } from '../db/database.ts'
import { statusCounts } from '../db/ledger/status-counts.ts'
import { isOfDestination } from '../db/runs/newest-runs.ts'
import { isOtherKeyAtWork, refusedKeysAtWork } from '../db/service-key/keys-at-work.ts'
import { deniedKeyInUse } from '../db/service-key/service-key.ts'
import { isLeftToProxy, proxyAdvice } from '../exchange/download.ts'
import { judgeDownloadUrl, judgeLiteral, pinnedLookup, systemLookup } from '../exchange/download-address.ts'
import type { ClockSkew } from '../exchange/read-answer.ts'
import { profileOf } from '../pipeline/destination/check-destination.ts'
import { destinationInUse, isKnownKey, wasEverUsed } from '../pipeline/destination/find-destination.ts'
import { surelyOffMs, tolerableSkewMs } from '../pipeline/gate/service-clock.ts'
import { keyFingerprint } from '../pipeline/gate/shared-gate.ts'
import { minuteOf } from '../pipeline/report/report-words.ts'
import {
  countOpen,
  judgeDestination,
  judgeItems,
  judgeKey,
  judgeOpen,
  judgeProfileUse,
  keyTrouble,
} from './judge-service.ts'
import { ofPartner } from './partner-checks.ts'
import { advice, CannotLook, type Check, error, type Found, ok, on, type Ward, warning } from './ward.ts'

/** Specification, Authentication 6: the key, then its profile and what it owns, then the results item by item. */
export const serviceChecks: readonly Check[] = [
  {
    id: 'service_key',
    group: 'service',
    why: 'Every call carries the key in the Authorization header, as it is. Without it nothing can be sent or read.',
    run: async (ward) => {
      const { exchange } = await on(ward.config, 'configuration')
      if (exchange.baseUrl === null || exchange.apiKey === null) throw new CannotLook('see settings')
      const odd = keyTrouble(exchange.apiKey)
      const [breaker, refused] = await ward.ledger().then(
        async ({ db }) => [await deniedKeyInUse(db), await refusedKeysAtWork(db)] as const,
        () => [null, []] as const,
      )
      const { proxy } = exchange
      const found = await ward.service().then(
        () => judgeKey({ error: null, odd, breaker, proxy }),
        (error: unknown) => judgeKey({ error, odd, breaker, proxy }),
      )
      const ours = keyFingerprint(exchange.apiKey, exchange.baseUrl)
      const others = refused.filter(({ fingerprint }) => fingerprint !== ours)
      return others.length === 0 ? found : [...found.filter(({ level }) => level !== 'ok'), ...others.map(otherKey)]
    },
  },
  {
    id: 'service_profile',
    group: 'service',
    why: 'The key acts as one profile. What that profile does not own or may not use, the service refuses.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const service = await on(ward.service, 'service_key')
      return judgeProfileUse(config, await service.getGroups(), await service.getCustomProperties())
    },
  },
  {
    id: 'service_destination',
    group: 'service',
    why: 'The ledger says what one profile of one service has accepted. Of another it says nothing, and a run refuses to send there.',
    run: async (ward) => {
      const { exchange } = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      if (exchange.baseUrl === null || exchange.apiKey === null) throw new CannotLook('see settings')
      const inUse = await destinationInUse(db)
      const fingerprint = keyFingerprint(exchange.apiKey, exchange.baseUrl)
      const isTaken = inUse.origin !== null && (await isOtherKeyAtWork(db, fingerprint))
      const used = isTaken || (await wasEverUsed(db))
      const known = await isKnownKey(db, inUse.destination_id, fingerprint)
      const configured = { baseUrl: exchange.baseUrl, customIdentifierId: exchange.customIdentifierId }
      if (!used || known) return judgeDestination({ inUse, used, configured, profile: null })
      const service = await on(ward.service, 'service_key')
      const profile = await profileOf({ db, exchange: service }, inUse)
      return judgeDestination({ inUse, used, configured, profile })
    },
  },
  {
    id: 'item_results',
    group: 'service',
    why: 'A task may succeed although items of it were rejected: only the result of each item tells.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeItems(await statusCounts(db, requirementsOf(config)))
    },
  },
  {
    id: 'open_submissions',
    group: 'service',
    why: 'Rows stay with their request until its fate is known, and are not sent again meanwhile.',
    run: async (ward) => {
      const { exchange } = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      return judgeOpen(await countOpen(db, new Date(ward.now().getTime() - exchange.giveUpAfterMs)))
    },
  },
]

/** A process that goes on with a key that was replaced: what goes by the key that was used last does not show it. */
function otherKey({ fingerprint, since, address }: Awaited<ReturnType<typeof refusedKeysAtWork>>[number]): Found {
  const where = address === null ? '' : ` (connected from ${address})`
  return warning(
    `A process${where} works with another key (fingerprint ${fingerprint}), which the service refuses since ${minuteOf(since)} UTC`,
    'set EXCHANGE_API_KEY there, and restart that process',
  )
}

/** How far another clock is from that of this process. Pure. */
export function judgeClock(party: string, skew: ClockSkew): Found[] {
  const offMs = surelyOffMs(skew)
  const side = skew.lowMs > 0 ? 'ahead of' : 'behind'
  const far = `The clock of ${party} is ${(offMs / 1000).toFixed(offMs < 10_000 ? 1 : 0)} s ${side} this machine's`
  if (offMs > tolerableSkewMs) return [warning(far, 'keep both clocks right by NTP')]
  return [ok(offMs < 1_000 ? `The clock of ${party} agrees with this machine's` : far)]
}

/** Pure. */
function judgeSilentClock(party: string): Found[] {
  return [ok(`${party.charAt(0).toUpperCase()}${party.slice(1)} has no clock of its own, or does not show it`)]
}

const why =
  'Times are compared across all parties: what is due, which rows are new, and whether a webhook is fresh (five minutes).'

export const clockChecks: readonly Check[] = [
  {
    id: 'clock_of_database',
    group: 'clocks',
    why,
    run: async (ward) => {
      const { db } = await on(ward.own, 'database_reached')
      return await measured("Nightferry's database", ward, async () => {
        const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(db)
        return rows[0]?.at.getTime() ?? null
      })
    },
  },
  ofPartner({
    id: 'clock_of_partner',
    group: 'clocks',
    why,
    run: async (ward) => {
      const partner = await on(ward.partner, 'partner_reached')
      return await measured("the partner's database", ward, () => partner.clock())
    },
  }),
  {
    id: 'clock_of_service',
    group: 'clocks',
    why,
    run: async (ward) => {
      const skew = (await on(ward.service, 'service_key')).skew()
      return skew === null ? judgeSilentClock('the service') : judgeClock('the service', skew)
    },
  },
]

/** A clock beside that of this process: the answer was given at some moment between the question and its arrival. */
async function measured(party: string, { now }: Ward, ask: () => Promise<number | null>): Promise<Found[]> {
  const askedMs = now().getTime()
  const theirs = await ask()
  const answeredMs = now().getTime()
  if (theirs === null) return judgeSilentClock(party)
  return judgeClock(party, { lowMs: theirs - answeredMs, highMs: theirs - askedMs })
}

/** Hosts change seldom: the pages of a few searches name all of them. */
const newest = 200

/**
 * Addresses of the result files that searches at the destination in use listed last. They contain credentials: only
 * their hosts may be told.
 */
async function newestPageAddresses(db: Database): Promise<string[]> {
  const { rows } = await sql<{ url: string }>`
    select url from search_page join submission using (submission_id)
    where ${isOfDestination} order by page_id desc limit ${newest}`.execute(db)
  return rows.map(({ url }) => url)
}

export const downloadChecks: readonly Check[] = [
  {
    id: 'download_host',
    group: 'downloads',
    why: 'Pages come from hosts that the service names. One that no longer resolves, or leads into a private network, is not called, and nothing comes back.',
    run: async (ward) => {
      const { exchange, pull } = await on(ward.config, 'configuration')
      if (exchange.baseUrl === null) throw new CannotLook('see settings')
      const { db } = await on(ward.ledger, 'database_schema')
      const rules = { baseUrl: new URL(exchange.baseUrl), allowedHosts: pull.allowedHosts }
      const addresses = await newestPageAddresses(db)
      const byHost = new Map(addresses.map((address) => [hostOf(address), address]))
      const found: Found[] = []
      for (const [host, address] of byHost) found.push(await judged(host, address, rules, exchange.proxy))
      return found.length > 0 ? found : [ok('No result file was listed yet')]
    },
  },
]

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : 'no address'
}

/** As a download would, up to the connection, which is not made. */
async function judged(
  host: string,
  address: string,
  rules: { baseUrl: URL; allowedHosts: readonly string[] },
  proxy: string | null,
): Promise<Found> {
  const target = judgeDownloadUrl(address, rules)
  if ('refused' in target)
    return error(
      `Files come from ${host}, and are refused: ${target.refused}`,
      'ask the service for files behind https',
      host,
    )
  if (isLeftToProxy(target, proxy)) return ok(`Files come from ${host}, whose name exchange.proxy looks up`, host)
  try {
    await judgeLiteral(target, rules.baseUrl, systemLookup)
    const resolve = promisify((done: (failure: Error | null) => void) => {
      pinnedLookup(target, rules.baseUrl, systemLookup)(target.host, { all: true }, (failure) => done(failure))
    })
    await resolve()
    return ok(`Files come from ${host}, which resolves, and may be called`, host)
  } catch (refused) {
    const { message, code } = refused as Error & { code?: string }
    const passing = code === 'EAI_AGAIN' || code === 'download_failed'
    const byName = proxy === null ? null : proxyAdvice(refused, target)
    const todo =
      byName ??
      (code === 'ENOTFOUND' || passing
        ? 'check the name service of this machine'
        : 'if the files are meant to be there, add the host to pull.allowedHosts')
    return passing ? advice(message, todo, host) : error(message, todo, host)
  }
}
