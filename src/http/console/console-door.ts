import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { tokensOf } from '../../config/http-settings.ts'
import { bearerOf } from '../may-enter.ts'
import { Problem } from '../problem.ts'

/** How long a link that `nightferry console` makes can be used, once. Milliseconds. */
const linkLastsMs = 5 * 60_000
/** Links of one right that nobody has used yet. */
const maxLinks = 50
/** How long after a nonce the link must be asked for. Milliseconds. */
const nonceLastsMs = 60_000

/** Sign-ins that fail within a minute before further ones that fail are told to wait. */
const maxFailures = 10
const failuresCountMs = 60_000

/** What only a page of ours can send: a request with it from elsewhere is asked about first, and never allowed. */
export const consoleHeader = 'x-nightferry-console'

/**
 * Who may enter by the console: sessions in a cookie, and links that work once. Requests that bear a token of their own
 * never come here.
 */
export class ConsoleDoor {
  readonly #tokens: SessionTokens
  readonly #secure: boolean
  readonly #nowMs: () => number
  readonly #links = new Map<string, { may: Session['may']; by: string; until: number }>()
  /** Seals the nonces of this process: what strangers may ask for takes no memory. A restart makes another. */
  readonly #nonceKey = randomBytes(32)
  /** Nonces that were used, with when they are over. Only those who know a token add to it. */
  readonly #used = new Map<string, number>()
  /** Sessions that somebody ended before their time, by id, with that time. */
  readonly #ended = new Map<string, number>()
  #failures: number[] = []

  constructor(tokens: SessionTokens, secure: boolean, nowMs: () => number = Date.now) {
    this.#tokens = tokens
    this.#secure = secure
    this.#nowMs = nowMs
  }

  /** The session that a request bears, if it may be used for this request. @throws {Problem} 403 from another page. */
  sessionOf(request: FastifyRequest): Session | null {
    const text = cookieOf(request, this.#nameFor(request))
    const session = text === null ? null : openSession(text, this.#tokens, this.#nowMs())
    if (session === null || this.#ended.has(session.id)) return null
    refuseOtherPages(request)
    return session
  }

  /** What a request for a link is to be sealed with: one that was heard before asks for nothing. */
  giveNonce(): string {
    const body = `${this.#nowMs() + nonceLastsMs}.${randomBytes(16).toString('base64url')}`
    return `${body}.${sealOf(body, this.#nonceKey)}`
  }

  /** Whether a nonce was given here within the last minute and not used; from now on it is. */
  #useNonce(nonce: string, now: number): boolean {
    const [, body, until, given] = /^((\d{1,16})\.[\w-]{22})\.([\w-]{43})$/.exec(nonce) ?? []
    if (body === undefined || given === undefined) return false
    if (!timingSafeEqual(Buffer.from(given), Buffer.from(sealOf(body, this.#nonceKey)))) return false
    const over = Number(until)
    // A clock that was ahead gave nonces that would last longer.
    if (over <= now || over > now + nonceLastsMs || this.#used.has(nonce)) return false
    for (const [known, end] of this.#used) if (end <= now) this.#used.delete(known)
    this.#used.set(nonce, over)
    return true
  }

  /**
   * A code that opens a session once, for `nightferry console`, and the proof that it comes from someone who knows the
   * token: see `openLinkProof`.
   * @param asked as `sealLinkRequest` makes it of a nonce that was given, by someone who knows a token.
   * @throws {Problem} 401 when it is not.
   */
  makeLink(asked: string): { once: string; proof: string | null; validForMs: number } {
    const now = this.#nowMs()
    const { held: request, by: token } = unseal(asked, linkRequest, 'link', this.#tokens) ?? {}
    if (request === undefined || token === undefined || !this.#useNonce(request.nonce, now)) {
      throw new Problem(401, 'token_wrong', 'The request for a link is sealed with no token of http, or is too old.')
    }
    const once = randomBytes(32).toString('base64url')
    this.#keepLink(digest(once), { may: request.may, by: request.by, until: now + linkLastsMs })
    // Who asks may know no other token.
    const proof = seal({ may: request.may, nonce: request.nonce, once }, 'answer', { token, readToken: token })
    return { once, proof, validForMs: linkLastsMs }
  }

  /** Adds a link, in the place of the oldest of the same right if there are too many: who may read ends no other. */
  #keepLink(key: string, link: { may: Session['may']; by: string; until: number }): void {
    const now = this.#nowMs()
    for (const [known, { until }] of this.#links) if (until <= now) this.#links.delete(known)
    const same = [...this.#links].filter(([, { may }]) => may === link.may).map(([known]) => known)
    const [oldest] = same
    if (same.length >= maxLinks && oldest !== undefined) this.#links.delete(oldest)
    this.#links.set(key, link)
  }

  /**
   * Opens a session for a token or the code of a link.
   * @param secure whether the page that signs in came over https.
   * @throws {Problem} 401 when it is neither, 429 when too many were neither before.
   */
  signIn({ token, once, by }: { token?: string; once?: string; by?: string }, secure: boolean): Session {
    const now = this.#nowMs()
    this.#failures = this.#failures.filter((at) => at > now - failuresCountMs)
    // Nobody finds a token or the code of a link by trying, so failures of others do not keep its bearer out.
    const link = once === undefined ? undefined : this.#takeLink(once, now)
    if (link !== undefined) return newSession(link.may, link.by, secure, now)
    const bearer = token === undefined ? null : bearerOf(`Bearer ${token}`, this.#tokens)
    if (bearer === 'act' || bearer === 'read') return newSession(bearer, by ?? 'somebody', secure, now)
    if (this.#failures.length >= maxFailures) {
      throw new Problem(429, 'too_many_sign_ins', 'This sign-in failed, as many did before; try again in a minute.')
    }
    this.#failures.push(now)
    throw new Problem(
      401,
      'sign_in_refused',
      once === undefined
        ? 'This is no token of http.token or http.readToken.'
        : 'The link was used already, or is older than 5 minutes; nightferry console makes another.',
    )
  }

  #takeLink(once: string, now: number) {
    const key = digest(once)
    const link = this.#links.get(key)
    this.#links.delete(key)
    return link === undefined || link.until <= now ? undefined : link
  }

  /** Ends a session before its time, also for copies of its cookie. */
  signOut({ id, since }: Session): void {
    const now = this.#nowMs()
    for (const [ended, over] of this.#ended) if (over <= now) this.#ended.delete(ended)
    // Copies of it may have been renewed.
    this.#ended.set(id, since + sessionEndsMs)
  }

  /** A session that lasts longer, for a page that is still open; null if it need not, or must not. */
  renew(session: Session): Session | null {
    return renewedSession(session, this.#nowMs())
  }

  /**
   * The header that hands a session to the browser, or takes it away. `Secure` where the session came over https, which
   * also a proxy may have decrypted: then only the `Origin` of the sign-in said so, and its renewals bear none.
   */
  cookie(request: FastifyRequest, session: Session | null): string {
    const value = session === null ? '' : (sealSession(session, this.#tokens) ?? '')
    const age = session === null ? 0 : Math.ceil((session.until - this.#nowMs()) / 1_000)
    const secure = this.#secure || (session?.secure ?? isFromHttps(request)) ? '; Secure' : ''
    return `${this.#nameFor(request)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`
  }

  /** Cookies do not know of ports: two daemons on one machine would otherwise take each other's. */
  #nameFor({ headers }: FastifyRequest): string {
    const [, port = 'default'] = /:(\d{1,5})$/.exec(headers.host ?? '') ?? []
    return `nightferry_${port}`
  }
}

/**
 * A cookie is sent by the browser, no matter who asked for the request. `SameSite` keeps other sites out, but another
 * port of this machine is the same site.
 * @throws {Problem} 403 when a request that bears a session does not come from a page of this very origin.
 */
function refuseOtherPages({ method, headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site']
  const reads = method === 'GET'
  const near = site === undefined || site === 'same-origin' || (reads && site === 'none')
  const sameOrigin = headers.origin === undefined ? reads : hostOf(headers.origin) === headers.host
  if (near && sameOrigin && (reads || headers[consoleHeader] === '1')) return
  throw new Problem(403, 'origin_refused', 'A session of the console works from the pages of the console alone.')
}

/** Whether the page that sends a request came over https, as its browser says. */
export function isFromHttps({ headers: { origin = '' } }: FastifyRequest): boolean {
  return URL.canParse(origin) && new URL(origin).protocol === 'https:'
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}

function cookieOf({ headers }: FastifyRequest, name: string): string | null {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const found = pairs.find((pair) => pair.startsWith(`${name}=`))
  return found === undefined ? null : found.slice(name.length + 1)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Somebody who signed in to the console: what they may do, who they say they are, since when and until when. */
export type Session = {
  id: string
  may: 'act' | 'read'
  by: string
  /** Signed in over https. */
  secure: boolean
  since: number
  until: number
}

/** As the settings have them: of several tokens the first seals, and each opens what it has sealed. */
export type SessionTokens = { token: string | null; readToken: string | null }

const session = z.strictObject({
  id: z.string(),
  may: z.enum(['act', 'read']),
  by: z.string(),
  secure: z.boolean().default(false),
  since: z.number(),
  until: z.number(),
})

/** How long a session lasts that no page renews: a working day. Milliseconds. */
export const sessionLastsMs = 12 * 3_600_000
/** How long a page that stays open can renew it; after that a person signs in again: a week. Milliseconds. */
export const sessionEndsMs = 7 * 24 * 3_600_000
/** A session younger than this is not renewed: a page asks often. Milliseconds. */
const renewAfterMs = 5 * 60_000

export function newSession(may: Session['may'], by: string, secure: boolean, nowMs: number): Session {
  return { id: randomBytes(12).toString('base64url'), may, by, secure, since: nowMs, until: nowMs + sessionLastsMs }
}

/** The session of a page that is still open, lasting longer; null if it need not, or must not. Pure. */
export function renewedSession(of: Session, nowMs: number): Session | null {
  const until = Math.min(nowMs + sessionLastsMs, of.since + sessionEndsMs)
  return until - of.until >= renewAfterMs ? { ...of, until } : null
}

/**
 * A session as the text of a cookie, sealed with a token that opens such ones. A daemon that was restarted knows it
 * again, and a token that is taken out ends every session that it has sealed. Null: no such token is set.
 */
export function sealSession(of: Session, tokens: SessionTokens): string | null {
  return seal(of, 'session', tokens)
}

/** The session that a cookie holds; null if it is not sealed by a token in use, or is over. Pure. */
export function openSession(text: string, tokens: SessionTokens, nowMs: number): Session | null {
  const held = unseal(text, session, 'session', tokens)?.held
  return held === undefined || held.until <= nowMs ? null : held
}

const linkRequest = z.strictObject({ nonce: z.string(), may: session.shape.may, by: z.string() })

/**
 * A request for a link, sealed with the token that allows more. The token itself is not sent: where no daemon listens,
 * another program of this machine may. Null: no token is set.
 */
export function sealLinkRequest(nonce: string, by: string, tokens: SessionTokens): string | null {
  return seal({ nonce, may: mostOf(tokens), by }, 'link', tokens)
}

const linkAnswer = z.strictObject({
  nonce: z.string(),
  may: session.shape.may,
  once: z.string().regex(/^[\w-]{43}$/),
})

/**
 * The code of the link that was asked for with this nonce; null: who answers does not prove that they know the token
 * that the request was sealed with. Pure.
 */
export function openLinkProof(proof: string, nonce: string, tokens: SessionTokens): string | null {
  const answer = unseal(proof, linkAnswer, 'answer', tokens)?.held
  return answer !== undefined && answer.nonce === nonce && answer.may === mostOf(tokens) ? answer.once : null
}

function mostOf({ token }: SessionTokens): Session['may'] {
  return token === null ? 'read' : 'act'
}

type Purpose = 'session' | 'link' | 'answer'

function seal<T extends { may: Session['may'] }>(of: T, purpose: Purpose, tokens: SessionTokens): string | null {
  const [token] = tokensFor(of.may, tokens)
  if (token === undefined) return null
  const body = Buffer.from(JSON.stringify(of)).toString('base64url')
  return `${body}.${sealOf(body, keyOf(of.may, purpose, token))}`
}

/** What was sealed for this purpose by a token in use, and that token; null: it was not. Pure. */
function unseal<T extends { may: Session['may'] }>(
  text: string,
  form: z.ZodType<T>,
  purpose: Purpose,
  tokens: SessionTokens,
): { held: T; by: string } | null {
  const [, body, given] = /^([\w-]{1,2000})\.([\w-]{43})$/.exec(text) ?? []
  if (body === undefined || given === undefined) return null
  const held = form.safeParse(jsonOf(body))
  if (!held.success) return null
  const { data } = held
  const by = tokensFor(data.may, tokens).find((token) => {
    const seal = sealOf(body, keyOf(data.may, purpose, token))
    return timingSafeEqual(Buffer.from(given), Buffer.from(seal))
  })
  return by === undefined ? null : { held: data, by }
}

function tokensFor(may: Session['may'], { token, readToken }: SessionTokens): string[] {
  return tokensOf(may === 'act' ? token : readToken)
}

/** One key for each right and purpose: who may read cannot make a cookie that says they may act. */
function keyOf(may: Session['may'], purpose: Purpose, token: string): Buffer {
  return createHash('sha256').update(`nightferry console ${purpose}, ${may}\0${token}`).digest()
}

function sealOf(body: string, key: Buffer): string {
  return createHmac('sha256', key).update(body).digest('base64url')
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
  } catch {
    return null
  }
}
