import { hash } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { request } from 'undici'
import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
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

/** Each takes a message for itself: one that does not keeps no other waiting. */
export type Receiver = {
  /** The setting that has its address, and of several in one setting which. */
  name: string
  /** The setting and which address stands there now, without telling it if it is a secret. */
  receiver: string
}

/** @property signal breaks the conversation off, which then counts as failed. */
type Sending = {
  signal?: AbortSignal | undefined
  /** The destination that texts for people need not name. */
  withoutSaying?: string | null
}

/** A way to one receiver or to several at once. */
type Channel = {
  receivers: readonly Receiver[]
  /** Sends a message now to those of its receivers that are named. @returns those that did not take it, by name. */
  send: (message: Message, names: readonly string[], how?: Sending) => Promise<Map<string, NotTaken>>
}

/** The ways to the receivers of messages for people, or of heartbeats. Pure. */
export function channelsOf({ url, format, email, heartbeatUrl }: Config['notify'], heartbeat = false): Channel[] {
  const byHttp = (name: string, address: string): Channel => ({
    receivers: [{ name, receiver: `${name} ${hash('sha256', address).slice(0, 8)}` }],
    send: async (message, _, how) => {
      const notTaken = await sendByHttp(address, name, message, format, how)
      return new Map(notTaken === null ? [] : [[name, notTaken]])
    },
  })
  if (heartbeat) return heartbeatUrl === null ? [] : [byHttp('notify.heartbeatUrl', heartbeatUrl)]
  return [...(url === null ? [] : [byHttp('notify.url', url)]), ...(isEmailSet(email) ? [byEmail(email)] : [])]
}

/**
 * Whether an error that was kept with a message may be over a receiver that has not taken it: errors name the setting,
 * and of e-mail the address unless it was all of them. Pure.
 * @param name of the receiver.
 */
export function mayBeOver(error: string, name: string): boolean {
  if (!error.includes('notify.')) return true
  if (!name.startsWith(emailPrefix)) return error.includes(name)
  const address = name.slice(emailPrefix.length)
  return [address, onTheWire(address)].some((one) => error.includes(one)) || /notify\.email (did|is) not/.test(error)
}

const emailPrefix = 'notify.email '

/** One mail to all of its addresses, each of which takes it or not. */
function byEmail(email: EmailSettings): Channel {
  const nameOf = (address: string) => `${emailPrefix}${address}`
  return {
    receivers: [...new Set(email.to.map(nameOf))].map((name) => ({ name, receiver: name })),
    send: async (message, names, how) => {
      const to = email.to.filter((address) => names.includes(nameOf(address)))
      const errors = await sendEmail({ ...email, to }, message, how)
      return new Map([...errors].map(([address, error]) => [nameOf(address), { error }]))
    },
  }
}

/** @param name the setting that has the address, which is a secret, for the error. */
async function sendByHttp(
  url: string,
  name: string,
  message: Message,
  format: Config['notify']['format'],
  { signal, withoutSaying = null }: Sending = {},
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
          body: JSON.stringify(bodyOf(message, format, withoutSaying)),
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

/**
 * A message as the receiver of a format reads it. Pure.
 * @param withoutSaying the destination that texts for people need not name.
 */
export function bodyOf(
  message: Message,
  format: Config['notify']['format'],
  withoutSaying: string | null = null,
): object {
  if (format === 'slack') return { text: linesOf(message, withoutSaying).map(slackText).join('\n') }
  if (format === 'teams') return teamsCard(linesOf(message, withoutSaying))
  return message
}

/** A message as lines of text: the sentence, with the destination where it has to be said, then the causes. Pure. */
function linesOf(message: Message, withoutSaying: string | null): string[] {
  const where = whereOf(message, withoutSaying)
  return [
    `${where === null ? '' : `At ${where}: `}${message.sentence}`,
    ...message.causes.map(
      ({ what, rows, verb }) => `• ${rows === null ? '' : `${counted(rows, 'row')} `}${what}: ${verb}`,
    ),
  ]
}

/** The destination that a message is about, if people have to be told. Pure. */
function whereOf({ destination }: Message, withoutSaying: string | null): string | null {
  return destination === withoutSaying ? null : destination
}

/** Slack reads these three as markup, also where a hotel's name has them. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Teams reads the text of a TextBlock as Markdown, also what others wrote into it; that of a TextRun it shows. */
function teamsCard([first, ...rest]: readonly string[]): object {
  const block = (text: string, weight: string) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, weight }],
  })
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
 * @returns the addresses of `to` that did not take it, and why, without the password.
 */
export async function sendEmail(
  settings: EmailSettings,
  message: Message,
  { signal, withoutSaying = null }: Sending = {},
): Promise<Map<string, string>> {
  const { host, port, tls, user, password, from, to } = settings
  const noneTook = (why: string) => new Map(to.map((address) => [address, why]))
  const concealed = (said: string) => (password === null ? said : said.replaceAll(password, 'notify.email.password'))
  if (host === null || from === null) return noneTook('notify.email is not set any more')
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
    const [first = '', ...rest] = linesOf(message, withoutSaying)
    const where = whereOf(message, withoutSaying)
    const subject = `[Nightferry] ${message.job}${where === null ? '' : ` at ${where}`}: ${message.event}`
    const text = `${[first, '', ...rest].join('\n')}\n`
    const sent = await transport.sendMail({ from, to, subject, text, ...(signal !== undefined && { signal }) })
    return refusedOf(to, sent.rejectedErrors ?? [], concealed)
  } catch (error) {
    const { code, responseCode, message: said, rejectedErrors = [] } = error as MailError
    const why = [code, responseCode, concealed(said)].filter((part) => part !== undefined).join(' ')
    const whole = noneTook(`the server of notify.email did not take it: ${why}`)
    return new Map([...whole, ...refusedOf(to, rejectedErrors, concealed)])
  } finally {
    transport.close()
  }
}

/** An address that the server refused, as the library writes it, and the server's words. */
type Refusal = { recipient?: string | undefined; response?: string | undefined }

type MailError = Error & { code?: string; responseCode?: number; rejectedErrors?: Refusal[] }

/** Which of the addresses were refused. All of them, if one that was refused cannot be told from the others. */
function refusedOf(
  to: readonly string[],
  refusals: readonly Refusal[],
  concealed: (said: string) => string,
): Map<string, string> {
  const refused = refusals.map(({ recipient = '', response = 'no reason given' }) => ({
    addresses: to.filter((address) => onTheWire(address) === onTheWire(recipient)),
    error: `the server of notify.email refused ${recipient}: ${concealed(response)}`,
  }))
  return new Map(
    refused.flatMap(({ addresses, error }) =>
      (addresses.length > 0 ? addresses : to).map((address) => [address, error] as const),
    ),
  )
}

/** An address with its domain as it goes over the wire. */
function onTheWire(address: string): string {
  const [, mailbox = address, domain = ''] = /^(.*)@([^@]*)$/.exec(address) ?? []
  return `${mailbox}@${domainToASCII(domain)}`
}
