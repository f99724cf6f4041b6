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
  if (holdsCutPassword(url)) throw new Error(`the address ends early: ${cutPassword}`)
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

const cutPassword = 'its user or password holds a ? or # that is not written as %3F or %23'

/** A question mark or hash sign ends the host, whose port and parameters are parts of the password then. */
function holdsCutPassword(url: string): boolean {
  const { search, hash, username } = new URL(url)
  return username === '' && `${search}${hash}`.includes('@')
}

/** Where a URL leads, for messages: nothing that could be a part of a password. */
export function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'an address that is no URL'
  if (holdsCutPassword(url)) return `an address: ${cutPassword}`
  const { host, pathname } = new URL(url)
  // A slash in a password that is not written as %2F ends the host, and the password stands in the path.
  return pathname.includes('@')
    ? 'an address whose user or password holds a slash that is not written as %2F'
    : `${host}${pathname}`
}

/**
 * Milliseconds of silence after which the kernel asks whether the other end is still there. A reading is silent while
 * the partner's server thinks; without this a network that died meanwhile is noticed after two hours.
 */
export const keepAliveAfterMs = 20_000
