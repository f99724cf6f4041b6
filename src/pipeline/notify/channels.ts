import { hash } from 'node:crypto'
import { request } from 'undici'
import type { Config } from '../../config/schema.ts'
import { retryAfterMs } from '../../exchange/retry-after.ts'
import { bodyOf } from './formats.ts'
import type { Message } from './message.ts'
import { isEmailSet, sendEmail } from './send-email.ts'

/** How long a receiver may take for each part of its answer. Milliseconds. */
const patienceMs = 10_000

/**
 * The longest that a receiver is left alone because it asked for it: news of a night has to be read that day.
 * Milliseconds.
 */
const longestAskedMs = 6 * 3_600_000

/** Why a receiver did not take a message, and for how long it asked to be left alone, if it did. */
export type NotTaken = { error: string; askedMs?: number }

type Channel = {
  /** The setting that has its address. */
  name: string
  /** The setting and which address stands there now, without telling it. */
  receiver: string
  /** Sends a message now; null: the receiver took it. */
  send: (message: Message, signal?: AbortSignal) => Promise<NotTaken | null>
}

/** The receivers of messages for people, or of heartbeats. Pure. */
export function channelsOf({ url, format, email, heartbeatUrl }: Config['notify'], heartbeat = false): Channel[] {
  const byHttp = (name: string, address: string): Channel => ({
    name,
    receiver: `${name} ${hash('sha256', address).slice(0, 8)}`,
    send: (message, signal) => sendByHttp(address, name, message, format, signal),
  })
  if (heartbeat) return heartbeatUrl === null ? [] : [byHttp('notify.heartbeatUrl', heartbeatUrl)]
  const byEmail: Channel = {
    name: 'notify.email',
    receiver: 'notify.email',
    send: async (message, signal) => {
      const error = await sendEmail(email, message, signal)
      return error === null ? null : { error }
    },
  }
  return [...(url === null ? [] : [byHttp('notify.url', url)]), ...(isEmailSet(email) ? [byEmail] : [])]
}

/** @param name the setting that has the address, which is a secret, for the error. */
async function sendByHttp(
  url: string,
  name: string,
  message: Message,
  format: Config['notify']['format'],
  signal?: AbortSignal,
): Promise<NotTaken | null> {
  const patience = AbortSignal.timeout(3 * patienceMs)
  const timeouts = {
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
    signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
  }
  try {
    const { statusCode, headers, body } = await (message.event === 'heartbeat'
      ? request(url, { method: 'GET', ...timeouts })
      : request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(bodyOf(message, format)),
          ...timeouts,
        }))
    await body.dump()
    if (statusCode >= 200 && statusCode < 300) return null
    // A date in it is meant for the clock that set it, which is not ours; a wrong one delays by six hours at most.
    const askedMs = retryAfterMs(headers['retry-after'], dateOf(headers.date), longestAskedMs)
    return { error: `the receiver of ${name} answered ${statusCode}`, ...(askedMs !== undefined && { askedMs }) }
  } catch (error) {
    const { code, message: said } = error as Error & { code?: string }
    const why = (said === '' ? code : said)?.replaceAll(url, name) ?? code ?? ''
    return { error: `the receiver of ${name} cannot be reached: ${why}` }
  }
}

/** What the receiver's clock says, in milliseconds; ours where it does not tell. */
function dateOf(header: string | string[] | undefined): number {
  const told = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(told) ? Date.now() : told
}
