import { lookup } from 'node:dns/promises'
import { type AddressInfo, createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { ConfigError } from '../config/environment.ts'
import { httpConnections, tokensOf } from '../config/http-settings.ts'
import type { Config } from '../config/schema.ts'
import { isLoopback } from '../config/setting-kinds.ts'
import { createDatabase, createPool } from '../db/database.ts'
import { schemaName } from '../db/schema-standing.ts'
import { loadForStatus } from '../jobs/whole-status.ts'
import type { Deps } from '../pipeline/deps.ts'
import { buildHttpServer, readCertificateAgain } from './build-http-server.ts'
import { createMetrics } from './metrics/metrics.ts'
import type { HttpContext } from './route.ts'
import { allRoutes, describeRoutes } from './routes/all-routes.ts'

export type HttpServer = {
  url: string
  /** As the function of that name does, with the files that were named at the start. */
  readCertificateAgain(): () => void
  close(): Promise<void>
}

/** The API cannot be served where it was asked for. */
class HttpUnavailable extends Error {
  readonly code = 'http_unavailable'
}

/**
 * Refuses settings with which the API would be open to strangers.
 * @throws {ConfigError} naming each setting and what to do.
 */
export function checkHttpSettings({ http }: Pick<Config, 'http'>): void {
  const problems: { path: string; message: string }[] = []
  const wrong = (name: string, message: string) => problems.push({ path: `http.${name}`, message })
  if ((http.certificateFile === null) !== (http.keyFile === null)) {
    wrong(http.keyFile === null ? 'keyFile' : 'certificateFile', 'is missing: TLS needs a certificate and its key')
  }
  const acting = tokensOf(http.token)
  if (tokensOf(http.readToken).some((token) => acting.includes(token))) wrong('readToken', 'has a token of http.token')
  if (!isLoopback(http.host)) {
    const where = `${http.host} is beyond loopback`
    if (http.token === null && http.readToken === null) wrong('token', `is not set, and ${where}`)
    if (http.certificateFile === null && !http.plain) {
      wrong('certificateFile', `is not set, and ${where}: set it with http.keyFile, or http.plain if a proxy encrypts`)
    }
    if (http.allowedHosts.length === 0) wrong('allowedHosts', `names no host, and ${where}: name those clients use`)
  }
  if (problems.length > 0) throw new ConfigError('The HTTP API would not be safe:', problems)
}

/**
 * Serves the API.
 * @param conceal replaces secrets in what is answered: the last line of defence.
 * @param asks what only the command line can look at.
 * @throws {ConfigError} when the settings are not safe. @throws when its address is taken.
 */
export async function startHttp(
  deps: Deps,
  databaseUrl: string,
  version: string,
  conceal: (text: string) => string,
  asks: HttpContext['asks'],
): Promise<HttpServer> {
  const { http } = deps.config
  checkHttpSettings(deps.config)
  await loadForStatus()
  const stopping = new AbortController()
  const pool = createPool(databaseUrl, {
    max: httpConnections,
    applicationName: 'nightferry http',
    searchPath: schemaName,
    statementTimeoutMs: http.statementTimeoutMs,
    endsWithClient: true,
    onIdleError: (error) => deps.tellTrouble('http_connection_lost', error),
  })
  const connections = new Set<pg.PoolClient>()
  pool.on('connect', (client) => connections.add(client)).on('remove', (client) => connections.delete(client))
  const close = async () => {
    stopping.abort()
    await server.close()
    const ended = pool.end()
    // A count of what waits may take minutes, and nobody waits for it any more.
    for (const client of connections) void (client as pg.Client & pg.PoolClient).end().catch(() => {})
    await ended
  }
  const db = createDatabase(pool)
  const context = { deps, db, asks, metrics: createMetrics(deps, db, version), conceal, stopping: stopping.signal }
  const routes = allRoutes((known) => describeRoutes(known, version))
  const server = buildHttpServer(context, http, routes)
  try {
    await listenHttp(server, http)
  } catch (error) {
    await close()
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'another process listens there' : message
    throw new HttpUnavailable(
      `The HTTP API cannot listen on ${http.host}:${http.port}: ${why}. Choose another http.port, or end the other process.`,
    )
  }
  const { port } = server.server.address() as AddressInfo
  const scheme = http.certificateFile === null ? 'http' : 'https'
  const name = http.host.includes(':') ? `[${http.host}]` : http.host
  const url = `${scheme}://${name}:${port}`
  return { url, readCertificateAgain: () => readCertificateAgain(server, http), close }
}

/**
 * Listens where the settings say. `localhost` can be two addresses, and Fastify would make a second server for the
 * other one: no limit of connections holds for that, and it shows no renewed certificate. Here one server has the
 * connections of both.
 * @throws when the name is unknown, or its first address is taken. Another one that cannot be had is left out.
 */
export async function listenHttp(server: FastifyInstance, { host, port }: Config['http']): Promise<void> {
  const [first = host, ...others] = host === 'localhost' ? await addressesOf(host) : [host]
  await server.listen({ host: first, port: port ?? 0 })
  for (const other of others) await listenToo(server, other)
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

async function listenToo({ server }: FastifyInstance, host: string): Promise<void> {
  const { port } = server.address() as AddressInfo
  // As the server of Node has it: without TLS, a client that has ended its side is still answered.
  const allowHalfOpen = !('setSecureContext' in server)
  const other = createServer({ allowHalfOpen, noDelay: true }, (socket) => server.emit('connection', socket))
  server.once('close', () => other.close())
  await new Promise<void>((resolve) => {
    other.once('error', () => resolve()).listen({ host, port }, resolve)
  })
}
