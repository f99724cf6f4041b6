import { hash } from 'node:crypto'
import { request } from 'undici'
import type { Config } from '../../config/schema.ts'
import { retryAfterMs } from '../../exchange/back-off.ts'
import type { Message } from './message.ts'

/** How long a receiver may take for each part of its answer. Milliseconds. */
const patienceMs = 10_000

/**
 * The longest that a receiver is left alone because it asked for it: news of a night has to be read that day.
 * Milliseconds.
 */
export const longestAskedMs = 6 * 3_600_000

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

/** A message as the receiver of a format reads it. Pure. */
export function bodyOf(message: Message, format: Config['notify']['format']): object {
  if (format === 'slack') return { text: linesOf(message).map(slackText).join('\n') }
  if (format === 'teams') return teamsCard(message)
  return message
}

/** A message as lines of text: the sentence, then the causes. Pure. */
function linesOf({ sentence, causes }: Message): string[] {
  return [
    sentence,
    ...causes.map(({ what, rows, verb }) => `• ${rows === null ? '' : rowsWords(rows)}${what}: ${verb}`),
  ]
}

function rowsWords(rows: number): string {
  return `${rows} ${rows === 1 ? 'row' : 'rows'} `
}

/** Slack reads these three as markup, also where a hotel's name has them. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function teamsCard(message: Message): object {
  const [first, ...rest] = linesOf(message)
  const block = (text: string, weight: string) => ({ type: 'TextBlock', text, weight, wrap: true })
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [block(first ?? '', 'Bolder'), ...rest.map((text) => block(text, 'Default'))],
        },
      },
    ],
  }
}

/** How long the mail server may take for each part of the exchange. Milliseconds. */
const mailPatienceMs = 10_000

type EmailSettings = Config['notify']['email']

/** Whether somebody is told by e-mail. */
function isEmailSet({ host, to }: EmailSettings): boolean {
  return host !== null && to.length > 0
}

/**
 * Sends one message by SMTP now. Without TLS nothing is sent but to loopback, and a certificate that does not prove
 * the server's name is refused.
 * @param signal breaks the conversation off, which then counts as failed.
 * @returns why the server did not take it, without the password; null if it did.
 */
export async function sendEmail(
  settings: EmailSettings,
  message: Message,
  signal?: AbortSignal,
): Promise<string | null> {
  const { host, port, tls, user, password, from, to } = settings
  if (host === null || from === null) return 'notify.email is not set any more'
  // Loaded where it is wanted: most processes send none.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    tls: { minVersion: 'TLSv1.2' },
    ...(user !== null && password !== null && { auth: { user, pass: password } }),
    connectionTimeout: mailPatienceMs,
    greetingTimeout: mailPatienceMs,
    socketTimeout: mailPatienceMs,
    // What a message says is text: nothing of it names a file or an address to fetch.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  try {
    const [first = '', ...rest] = linesOf(message)
    const subject = `[Nightferry] ${message.job}: ${message.event}`
    const text = `${[first, '', ...rest].join('\n')}\n`
    const { rejected } = await transport.sendMail({ from, to, subject, text, ...(signal !== undefined && { signal }) })
    return rejected.length === 0
      ? null
      : `the server of notify.email refused ${rejected.length} of ${to.length} receivers`
  } catch (error) {
    const { code, responseCode, message: said } = error as Error & { code?: string; responseCode?: number }
    const why = [code, responseCode, password === null ? said : said.replaceAll(password, 'notify.email.password')]
    return `the server of notify.email did not take it: ${why.filter((part) => part !== undefined).join(' ')}`
  } finally {
    transport.close()
  }
}
