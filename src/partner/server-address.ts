import { readFile } from 'node:fs/promises'

/** How a connection is protected; without `ca` the authorities that Node.js knows are trusted. */
type Tls = { verify: boolean; ca?: string }

/** A URL of a database server, taken apart. Null: the URL does not say. */
export type ServerAddress = {
  host: string
  port: number | null
  user: string
  password: string
  database: string | null
  /** Null: in plain text. */
  tls: Tls | null
  parameters: ReadonlyMap<string, string>
}

/**
 * Reads `scheme://user:password@host:port/database?ssl=…`. `ssl` is `true` (encrypted, certificate and name verified),
 * `no-verify` (encrypted, no matter who answers) or `false`; `sslrootcert` names a file of authorities in PEM and means
 * `ssl=true`.
 *
 * @param allowed the parameters besides these two: one that is misspelt must not be without effect.
 * @throws {Error} with a reason that holds no part of the URL but names of parameters.
 */
export async function readServerAddress(
  url: string,
  { allowed, tlsByDefault }: { allowed: readonly string[]; tlsByDefault: boolean },
): Promise<ServerAddress> {
  if (!URL.canParse(url)) throw new Error('the address is no URL; write special characters of its password as %XX')
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  if (holdsCutPassword(url)) throw new Error('its user or password holds a ? or # that is not written as %3F or %23')
  const known = ['ssl', 'sslrootcert', ...allowed]
  const unknown = [...searchParams.keys()].filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new Error(`the address has unknown parameters: ${unknown.join(', ')}; there are ${known.join(', ')}`)
  }
  if (hostname === '') throw new Error('the address names no server')
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? null : Number(port),
    user: decoded(username),
    password: decoded(password),
    database: pathname.length > 1 ? decoded(pathname.slice(1)) : null,
    tls: await tlsOf(searchParams, tlsByDefault),
    parameters: new Map(searchParams),
  }
}

async function tlsOf(parameters: URLSearchParams, byDefault: boolean): Promise<Tls | null> {
  const file = parameters.get('sslrootcert')
  const wanted = parameters.get('ssl') ?? (file === null ? String(byDefault) : 'true')
  if (!['true', 'no-verify', 'false'].includes(wanted)) {
    throw new Error(`ssl=${wanted} in the address means nothing; it is true, no-verify or false`)
  }
  if (wanted === 'false') return null
  return { verify: wanted === 'true', ...(file !== null && { ca: await readFile(file, 'utf8') }) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('user, password or database in the address holds a % that is not written as %25')
  }
}

/** A question mark or hash sign ends the host, whose port and parameters are parts of the password then. */
function holdsCutPassword(url: string): boolean {
  const { search, hash, username } = new URL(url)
  return username === '' && `${search}${hash}`.includes('@')
}

/**
 * Where a URL of a database leads and why it cannot be reached, for messages: nothing that could be a part of a
 * password. A bare mark in it ends the host early, and what is taken for the host, which drivers name, is a part of the
 * password then.
 */
export function whyUnreachable(url: string, error: unknown): { place: string; reason: string } {
  const { message, code } = error as { message?: string; code?: unknown }
  const reason = message || (typeof code === 'string' ? code : 'no reason given')
  if (!URL.canParse(url)) return { place: 'an address that is no URL', reason }
  const { host, pathname, search, hash } = new URL(url)
  const mark = pathname.includes('@')
    ? 'a slash that is not written as %2F'
    : /@|%40/i.test(`${search}${hash}`)
      ? 'a ? or # that is not written as %3F or %23'
      : null
  if (mark === null) return { place: `${host}${pathname}`, reason }
  // What has no code is said by us, and of no host.
  return {
    place: `an address whose user or password may hold ${mark}`,
    reason: typeof code === 'string' ? code : reason,
  }
}

/**
 * Milliseconds of silence after which the kernel asks whether the other end is still there. A reading is silent while
 * the partner's server thinks; without this a network that died meanwhile is noticed after two hours.
 */
export const keepAliveAfterMs = 20_000
