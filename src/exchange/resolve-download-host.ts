import { lookup as resolve } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { type AddressKind, addressKind } from '../network/address-kind.ts'
import { bareHost, type DownloadTarget, mayConnect } from './download-address.ts'
import { DownloadRefused } from './download-errors.ts'

type HostAddress = { address: string; family: number }

/** Resolves a host name to all its addresses. */
export type HostLookup = (host: string) => Promise<HostAddress[]>

export const systemLookup: HostLookup = (host) => resolve(host, { all: true, verbatim: true })

/**
 * Judges an IP literal. Node calls no resolver for one, so this happens before connecting.
 * @throws {DownloadRefused} when it leads where no result file may be.
 */
export async function judgeLiteral(target: DownloadTarget, baseUrl: URL, lookup: HostLookup): Promise<void> {
  const kind = addressKind(target.host)
  if (kind !== null && !target.trusted) await judgeKinds(target.host, [kind], baseUrl, lookup)
}

/**
 * A resolver for the connection itself: it judges every address of the host and hands over only what it judged, so no
 * second resolution can answer differently. One address in a forbidden network refuses the host.
 */
export function pinnedLookup(target: DownloadTarget, baseUrl: URL, lookup: HostLookup): LookupFunction {
  const judged = callbackify((host: string) => judgedAddresses(host, target, baseUrl, lookup))
  return (host, options, callback) => {
    judged(host, (error, addresses) => {
      if (error) callback(error, [])
      else if (options.all === true) callback(null, addresses)
      else callback(null, addresses[0].address, addresses[0].family)
    })
  }
}

async function judgedAddresses(host: string, target: DownloadTarget, baseUrl: URL, lookup: HostLookup) {
  const [first, ...others] = await lookup(host)
  if (first === undefined) throw new DownloadRefused(target.host, 'its name has no address')
  const addresses: [HostAddress, ...HostAddress[]] = [first, ...others]
  if (!target.trusted) {
    const kinds = addresses.map(({ address }) => addressKind(address) ?? 'special')
    await judgeKinds(target.host, kinds, baseUrl, lookup)
  }
  return addresses
}

async function judgeKinds(host: string, kinds: AddressKind[], baseUrl: URL, lookup: HostLookup): Promise<void> {
  if (kinds.every((kind) => mayConnect(kind, []))) return
  const baseKinds = await kindsOfBase(baseUrl, lookup)
  const forbidden = kinds.find((kind) => !mayConnect(kind, baseKinds))
  if (forbidden === undefined) return
  throw new DownloadRefused(host, `its address is ${forbidden}; if the files are meant to be there, allow the host`)
}

async function kindsOfBase(baseUrl: URL, lookup: HostLookup): Promise<AddressKind[]> {
  const host = bareHost(baseUrl)
  const literal = addressKind(host)
  if (literal !== null) return [literal]
  const addresses = await lookup(host).catch(() => [])
  return addresses.map(({ address }) => addressKind(address) ?? 'special')
}
