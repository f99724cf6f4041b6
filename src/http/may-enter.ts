import { createHash, timingSafeEqual } from 'node:crypto'
import { tokensOf } from '../config/http-settings.ts'
import { isLoopback } from '../config/setting-kinds.ts'

/** What a route needs of its caller. `open`: nothing; `metrics`: a token, unless the API serves this machine alone. */
export type Access = 'open' | 'metrics' | 'read' | 'act'

/** What is known of who calls: which token they bear. */
type Bearer = 'act' | 'read' | 'wrong' | null

/**
 * Whether only programs of this machine call. An API on loopback that also has names for others stands behind a proxy,
 * which calls from this machine for them, and hands on whatever Host they wrote.
 */
export function servesThisMachineAlone({ host, allowedHosts }: { host: string; allowedHosts: readonly string[] }) {
  return isLoopback(host) && allowedHosts.length === 0
}

/**
 * Whether a request names a host that is ours. A web page can have a name of its own lead to loopback (DNS rebinding);
 * its requests then bear that name.
 */
export function isOurHost(header: string | undefined, allowed: readonly string[]): boolean {
  const name = hostName(header)
  return name !== null && (isLoopback(name) || allowed.includes(name))
}

/** Whether a request comes from a page of ours, or from no page: programs send no Origin, browsers always do. */
export function isOurOrigin(origin: string | undefined, allowed: readonly string[]): boolean {
  if (origin === undefined) return true
  if (!URL.canParse(origin)) return false
  return isOurHost(new URL(origin).host, allowed)
}

/** The name of a Host header in lower case, without its port; null if there is none, or not one. */
function hostName(header: string | undefined): string | null {
  const [, name] = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(header ?? '') ?? []
  return name === undefined ? null : name.toLowerCase()
}

/** Which token a request bears, of those that the settings have by now. In constant time, whatever its length. */
export function bearerOf(
  header: string | undefined,
  { token, readToken }: { token: string | null; readToken: string | null },
): Bearer {
  if (header === undefined) return null
  const [, given] = /^Bearer ([\x21-\x7e]+)$/i.exec(header) ?? []
  if (given === undefined) return 'wrong'
  const [mayAct, mayRead] = [isAmong(given, token), isAmong(given, readToken)]
  if (mayAct) return 'act'
  return mayRead ? 'read' : 'wrong'
}

/** Compares with each, so that the time tells nothing of which it is. */
function isAmong(given: string, setting: string | null): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return tokensOf(setting)
    .map((token) => timingSafeEqual(digest(given), digest(token)))
    .includes(true)
}

/** The status of a refusal, or null if the call may enter. @param alone whether only this machine calls. Pure. */
export function refusalOf(access: Access, bearer: Bearer, alone: boolean): 401 | 403 | null {
  if (access === 'open' || (access === 'metrics' && alone)) return null
  if (bearer === null || bearer === 'wrong') return 401
  return access === 'act' && bearer !== 'act' ? 403 : null
}
