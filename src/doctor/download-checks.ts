import { promisify } from 'node:util'
import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { judgeDownloadUrl, judgeLiteral, pinnedLookup, systemLookup } from '../exchange/download-address.ts'
import { advice, error, type Found, ok } from './finding.ts'
import { CannotLook, type Check, on } from './ward.ts'

/** Hosts change seldom: the pages of a few searches name all of them. */
const newest = 200

/** Addresses of the result files that searches listed last. They contain credentials: only their hosts may be told. */
async function newestPageAddresses(db: Database): Promise<string[]> {
  const { rows } = await sql<{ url: string }>`
    select url from search_page order by page_id desc limit ${newest}`.execute(db)
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
      for (const [host, address] of byHost) found.push(await judged(host, address, rules))
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
): Promise<Found> {
  const target = judgeDownloadUrl(address, rules)
  if ('refused' in target)
    return error(
      `Files come from ${host}, and are refused: ${target.refused}`,
      'ask the service for files behind https',
      host,
    )
  try {
    await judgeLiteral(target, rules.baseUrl, systemLookup)
    const resolve = promisify((done: (failure: Error | null) => void) => {
      pinnedLookup(target, rules.baseUrl, systemLookup)(target.host, { all: true }, (failure) => done(failure))
    })
    await resolve()
    return ok(`Files come from ${host}, which resolves, and may be called`, host)
  } catch (refused) {
    const { message, code } = refused as Error & { code?: string }
    const todo =
      code === 'ENOTFOUND' || code === 'EAI_AGAIN'
        ? 'check the name service of this machine'
        : 'if the files are meant to be there, add the host to pull.allowedHosts'
    return code === 'EAI_AGAIN' ? advice(message, todo, host) : error(message, todo, host)
  }
}
