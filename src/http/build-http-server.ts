import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server as SecureServer } from 'node:https'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import { createSecureContext } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ConfigError } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import type { Actor } from '../db/actions/record-action.ts'
import { storableText } from '../db/copy-text.ts'
import { shownZone } from '../jobs/known-jobs.ts'
import { limitConnections } from '../network/limit-connections.ts'
import { ConsoleDoor, type Session } from './console/console-door.ts'
import { serveConsole } from './console/serve-console.ts'
import { bearerOf, isOurHost, isOurOrigin, refusalOf, servesThisMachineAlone } from './may-enter.ts'
import { Problem, type ProblemBody, problemOf } from './problem.ts'
import { Answer, FileAnswer, type HttpContext, Plain, type Route } from './route.ts'

/** The largest body that any action has is a few filters. Bytes. */
const maxBodyBytes = 64 * 1024

/** How long a client may take to send its request, and how often slower ones are looked for. Milliseconds. */
const requestTimeoutMs = 10_000
const headersTimeoutMs = 5_000
const slowClientsMs = 1_000

/** Longer than any part of a path can be: what an id may be is said by the schema of its route. */
const maxParamLength = 16 * 1024

/** Actions at once. */
const maxActing = 3

type HttpSettings = Config['http']

/** @throws {ConfigError} naming the file that cannot be used. */
function readTls({ certificateFile, keyFile }: HttpSettings): { cert: Buffer; key: Buffer } | null {
  if (certificateFile === null || keyFile === null) return null
  const trying = <T>(name: string, wrong: string, work: () => T): T => {
    try {
      return work()
    } catch (error) {
      const message = `${wrong}: ${(error as Error).message}`
      throw new ConfigError('The HTTP API cannot have TLS:', [{ path: `http.${name}`, message }])
    }
  }
  const cert = trying('certificateFile', 'cannot be read', () => readFileSync(certificateFile))
  const key = trying('keyFile', 'cannot be read', () => readFileSync(keyFile))
  const certificate = trying('certificateFile', 'is no certificate in PEM', () => new X509Certificate(cert))
  const privateKey = trying('keyFile', 'is no private key in PEM', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    const message = 'does not belong to the certificate of http.certificateFile'
    throw new ConfigError('The HTTP API cannot have TLS:', [{ path: 'http.keyFile', message }])
  }
  // The above looks at the first certificate of the file alone, and takes DER too.
  trying('certificateFile', 'cannot be used', () => createSecureContext({ cert, key }))
  return { cert, key }
}

/**
 * Reads the certificate and its key from their files again, which may have been renewed.
 * @returns what shows them to connections from then on; those that are there keep the old ones.
 * @throws {ConfigError} naming the file that cannot be used; nothing is changed then.
 */
export function readCertificateAgain({ server }: FastifyInstance, settings: HttpSettings): () => void {
  const tls = readTls(settings)
  return tls === null ? () => {} : () => (server as SecureServer).setSecureContext(tls)
}

/** The API over HTTP, not yet listening. Every error is `application/problem+json`. */
export function buildHttpServer(
  context: HttpContext,
  settings: HttpSettings,
  routes: readonly Route[],
): FastifyInstance {
  const tls = readTls(settings)
  const limits = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: slowClientsMs,
  }
  const sendProblem = (reply: FastifyReply, problem: ProblemBody) =>
    reply
      .code(problem.status)
      .type('application/problem+json')
      .send(context.conceal(JSON.stringify(problem)))
  const server = fastify({
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    routerOptions: { maxParamLength },
    // What fastify itself cannot read, such as an address with a broken escape.
    frameworkErrors: (error, _request, reply) => void sendProblem(reply as FastifyReply, problemOf(error)),
    ...(tls === null ? { http: limits } : { https: { ...limits, ...tls } }),
  }) as unknown as FastifyInstance
  const connections = limitConnections(server.server, settings.connections)
  server.addHook('preHandler', async (request, reply) => connections.answers(request.raw, reply.raw))
  server.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error)
    if (problem.status === 500) {
      const { message, stack } = error as Error
      context.deps.logger.error({ path: request.routeOptions.url, error: { message, stack } }, 'http_failed')
    }
    return sendProblem(reply, problem)
  })
  const methods = Map.groupBy(routes, ({ path }) => fastifyPath(path))
  server.setNotFoundHandler((_request, reply) =>
    sendProblem(
      reply,
      problemOf(new Problem(404, 'route_unknown', 'There is no such route; GET /openapi.json lists them.')),
    ),
  )
  server.addHook('onRequest', async (request, reply) => {
    void reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    if (!isOurHost(request.headers.host, settings.allowedHosts)) {
      throw new Problem(421, 'host_unknown', 'This host is not served here. http.allowedHosts names those that are.')
    }
    if (!isOurOrigin(request.headers.origin, settings.allowedHosts)) {
      throw new Problem(403, 'origin_refused', 'A page of another origin may not call this.')
    }
  })
  const door = new ConsoleDoor(settings, tls !== null)
  serveConsole(server, door, settings, () => shownZone(context.deps.config))
  for (const [path, here] of methods) {
    for (const one of here) {
      server.route({ method: one.method, url: path, handler: (request, reply) => serve(one, request, reply) })
    }
    const known: readonly string[] = here.map(({ method }) => method)
    server.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'].filter((method) => !known.includes(method)),
      url: path,
      handler: (_request, reply) => {
        const allowed = known.join(', ')
        const problem = new Problem(405, 'method_refused', `Only ${allowed} is known here.`)
        return sendProblem(reply.header('allow', allowed), problemOf(problem))
      },
    })
  }

  async function serve(one: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const session = enter(one, request, reply)
    const params = parse(one.params, request.params, 'path')
    const query = parse(one.query, request.query, 'query')
    const body = parse(one.body, request.body ?? {}, 'body')
    const call = {
      params: params as never,
      query: query as never,
      body: body as never,
      actor: actorOf(request, session),
    }
    const answer = one.access === 'act' ? await act(() => one.handle(context, call)) : await one.handle(context, call)
    if (answer instanceof FileAnswer) return reply.headers(answer.headers).send(answer.content)
    if (answer instanceof Plain) {
      const { content } = answer
      if (typeof content === 'string') return reply.type(answer.type).send(context.conceal(content))
      return reply.type(answer.type).send(Readable.from(concealed(content)))
    }
    const [status, content] = answer instanceof Answer ? [answer.status, answer.content] : [200, answer]
    return reply
      .code(status)
      .type('application/json; charset=utf-8')
      .send(context.conceal(JSON.stringify(content)))
  }

  async function* concealed(content: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const piece of content) yield context.conceal(piece)
  }

  let acting = 0

  /**
   * Actions work with the connections of the workers, who must not want for them.
   * @throws {Problem} 503 when too many are under way.
   */
  async function act(work: () => unknown): Promise<unknown> {
    if (acting >= maxActing) throw new Problem(503, 'too_many_actions', `${acting} actions are under way; ask again.`)
    acting += 1
    try {
      return await work()
    } finally {
      acting -= 1
    }
  }

  /** Lets a call in by the token that it bears, or else by a session of the console. */
  function enter({ access }: Route, request: FastifyRequest, reply: FastifyReply): Session | null {
    const { authorization } = request.headers
    const session = access === 'open' || authorization !== undefined ? null : door.sessionOf(request)
    const bearer = session?.may ?? bearerOf(authorization, settings)
    const refusal = refusalOf(access, bearer, servesThisMachineAlone(settings))
    if (refusal === 401) {
      void reply.header('www-authenticate', 'Bearer')
      const unset = settings.token === null && settings.readToken === null
      throw new Problem(
        401,
        'token_wrong',
        unset
          ? 'No token is set, so nobody may enter: set http.token (NIGHTFERRY_HTTP_TOKEN).'
          : 'Send the header Authorization: Bearer, and the token of http.token.',
      )
    }
    if (refusal === 403) throw new Problem(403, 'token_reads_only', 'This token may read, and not act.')
    return session
  }

  return server
}

function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** @throws {Problem} 400 naming each part that is wrong. */
function parse(schema: z.ZodType | undefined, given: unknown, where: string): unknown {
  if (JSON.stringify(given ?? null).includes('\\u0000')) {
    throw new Problem(400, 'request_malformed', `The ${where} holds a NUL character, which nothing here can have.`)
  }
  if (schema === undefined) {
    const names = typeof given === 'object' && given !== null ? Object.keys(given) : []
    if (names.length === 0) return undefined
    throw new Problem(400, 'request_malformed', `The ${where} takes nothing, and has ${names.join(', ')}.`)
  }
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const wrong = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '))
  throw new Problem(400, 'request_malformed', `The ${where} is wrong: ${wrong.join('; ')}`)
}

/** Names a person behind a program, for the table of actions. */
const actingHeader = 'x-nightferry-by'

/** @throws {Problem} when the name is no plain one. */
function actorOf(request: FastifyRequest, session: Session | null): Actor {
  const host = `${hostname()} for ${request.ip}`
  if (session !== null) return { user: storableText(`${session.by} (console)`), host }
  const by = request.headers[actingHeader]
  if (by !== undefined && (typeof by !== 'string' || !/^[\x20-\x7e]{1,100}$/.test(by))) {
    throw new Problem(400, 'request_malformed', `The header ${actingHeader} is no name of up to 100 ASCII characters.`)
  }
  const user = by === undefined ? 'HTTP API' : `${by} (HTTP API)`
  return { user: storableText(user), host }
}
