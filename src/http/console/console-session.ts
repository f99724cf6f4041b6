import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

/** Somebody who signed in to the console: what they may do, who they say they are, since when and until when. */
export type Session = { id: string; may: 'act' | 'read'; by: string; since: number; until: number }

export type SessionTokens = { token: string | null; readToken: string | null }

const session = z.strictObject({
  id: z.string(),
  may: z.enum(['act', 'read']),
  by: z.string(),
  since: z.number(),
  until: z.number(),
})

/** How long a session lasts that no page renews: a working day. Milliseconds. */
export const sessionLastsMs = 12 * 3_600_000
/** How long a page that stays open can renew it; after that a person signs in again: a week. Milliseconds. */
export const sessionEndsMs = 7 * 24 * 3_600_000
/** A session younger than this is not renewed: a page asks often. Milliseconds. */
const renewAfterMs = 5 * 60_000

export function newSession(may: Session['may'], by: string, nowMs: number): Session {
  return { id: randomBytes(12).toString('base64url'), may, by, since: nowMs, until: nowMs + sessionLastsMs }
}

/** The session of a page that is still open, lasting longer; null if it need not, or must not. Pure. */
export function renewedSession(of: Session, nowMs: number): Session | null {
  const until = Math.min(nowMs + sessionLastsMs, of.since + sessionEndsMs)
  return until - of.until >= renewAfterMs ? { ...of, until } : null
}

/**
 * A session as the text of a cookie, sealed with the token that opened it. A daemon that was restarted knows it again,
 * and a token that is replaced ends every session that it opened. Null: that token is not set.
 */
export function sealSession(of: Session, tokens: SessionTokens): string | null {
  const key = keyOf(of.may, tokens)
  if (key === null) return null
  const body = Buffer.from(JSON.stringify(of)).toString('base64url')
  return `${body}.${sealOf(body, key)}`
}

/** The session that a cookie holds; null if it is not sealed by a token in use, or is over. Pure. */
export function openSession(text: string, tokens: SessionTokens, nowMs: number): Session | null {
  const [, body, seal] = /^([\w-]{1,2000})\.([\w-]{43})$/.exec(text) ?? []
  if (body === undefined || seal === undefined) return null
  const held = session.safeParse(jsonOf(body))
  if (!held.success || held.data.until <= nowMs) return null
  const key = keyOf(held.data.may, tokens)
  return key !== null && timingSafeEqual(Buffer.from(seal), Buffer.from(sealOf(body, key))) ? held.data : null
}

/** One key for each right: who may read cannot make a cookie that says they may act. */
function keyOf(may: Session['may'], { token, readToken }: SessionTokens): Buffer | null {
  const of = may === 'act' ? token : readToken
  return of === null ? null : createHash('sha256').update(`nightferry console session, ${may}\0${of}`).digest()
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
