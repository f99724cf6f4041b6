import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { builtConsole } from '../built-console.ts'
import { Problem } from '../problem.ts'
import { type ConsoleDoor, consoleHeader, isFromHttps, type Session, type SessionTokens } from './console-door.ts'

/** A file of the console as it goes out. */
type ConsoleFile = { type: string; content: Buffer; tag: string }

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The files that `npm ci` built, by their path below `/console/`: a few hundred kilobytes, read once. Only what is here
 * is ever served, so no path can lead out of the folder. Empty if nothing was built.
 */
export function readConsoleFiles(folder = builtConsole): ReadonlyMap<string, ConsoleFile> {
  const names = namesIn(folder).filter((name) => extname(name) in types)
  return new Map(
    names.map((name) => {
      const content = readFileSync(join(folder, name))
      const tag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
      return [name.replaceAll('\\', '/'), { type: types[extname(name)] ?? '', content, tag }]
    }),
  )
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

/** What a page of the console may load and do: what comes from here, and nothing that stands in the page itself. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const pageHeaders = {
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

/** The name that a person gives: for the table of actions. */
const by = z
  .string()
  .regex(/^[\x20-\x7e]{1,100}$/, 'is no name of up to 100 ASCII characters')
  .optional()
const credentials = z.union([
  z.strictObject({ token: z.string().max(4_096), by }),
  z.strictObject({ once: z.string().max(200) }),
])

/** Serves the console below `/console/`, and its sessions. @param timeZone in which its pages show every moment. */
export function serveConsole(
  server: FastifyInstance,
  door: ConsoleDoor,
  tokens: SessionTokens,
  timeZone: () => string,
): void {
  const files = readConsoleFiles()
  server.get('/', (_request, reply) => reply.redirect('/console/', 302))
  server.get('/console', (_request, reply) => reply.redirect('/console/', 302))
  server.get('/console/*', (request, reply) => sendFile(files, request, reply))

  server.get('/console/session', (request, reply) => {
    const session = door.sessionOf(request)
    if (session === null) throw new Problem(401, 'sign_in_needed', 'Sign in to the console first.')
    const renewed = door.renew(session)
    if (renewed !== null) void reply.header('set-cookie', door.cookie(request, renewed))
    return reply.send(shown(renewed ?? session, timeZone()))
  })
  server.post('/console/session', (request, reply) => {
    requireOurPage(request)
    const given = credentials.safeParse(request.body)
    if (!given.success) {
      throw new Problem(400, 'request_malformed', 'Send token, with by if you like, or once: the code of a link.')
    }
    if (tokens.token === null && tokens.readToken === null) {
      throw new Problem(401, 'sign_in_refused', 'No token is set: set http.token (NIGHTFERRY_HTTP_TOKEN) first.')
    }
    const session = door.signIn(given.data as { token?: string; once?: string; by?: string }, isFromHttps(request))
    return reply.header('set-cookie', door.cookie(request, session)).send(shown(session, timeZone()))
  })
  server.delete('/console/session', (request, reply) => {
    const session = door.sessionOf(request)
    if (session !== null) door.signOut(session)
    return reply.header('set-cookie', door.cookie(request, null)).send({ signedOut: session !== null })
  })
  server.get('/console/links', (_request, reply) => reply.send({ nonce: door.giveNonce() }))
  server.post('/console/links', (request, reply) => {
    const given = z.strictObject({ asked: z.string().max(4_096) }).safeParse(request.body)
    if (!given.success) throw new Problem(400, 'request_malformed', 'Send asked: a sealed request for a link.')
    return reply.send(door.makeLink(given.data.asked))
  })
}

/** What the page is told of who it acts for, and in which time zone it shows every moment. */
function shown({ may, by, until }: Session, timeZone: string) {
  return { may, by, until: new Date(until).toISOString(), time_zone: timeZone }
}

/** Nobody is to be signed in, as somebody else, by a page that is not ours. @throws {Problem} 403 */
function requireOurPage({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site']
  if (headers[consoleHeader] === '1' && (site === undefined || site === 'same-origin')) return
  throw new Problem(403, 'origin_refused', 'Sign in from the pages of the console.')
}

/** A file, or the page itself for every other path: which of its pages is meant, the page reads from its address. */
function sendFile(files: ReadonlyMap<string, ConsoleFile>, request: FastifyRequest, reply: FastifyReply): unknown {
  const path = (request.params as { '*': string })['*']
  const named = path === '' ? undefined : files.get(path)
  if (named === undefined && path.startsWith('assets/')) {
    throw new Problem(404, 'route_unknown', 'There is no such file of the console.')
  }
  const file = named ?? files.get('index.html')
  if (file === undefined) {
    throw new Problem(503, 'console_not_built', 'The console was not built: npm run console:build makes it.')
  }
  // The names of built files hold a digest of what is in them.
  const kept = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
  void reply.headers({ ...pageHeaders, 'cache-control': kept, etag: file.tag })
  if (request.headers['if-none-match'] === file.tag) return reply.code(304).send()
  return reply.type(file.type).send(file.content)
}
