import type { Config } from '../../config/schema.ts'
import { linesOf } from './formats.ts'
import type { Message } from './message.ts'

/** How long the mail server may take for each part of the exchange. Milliseconds. */
const patienceMs = 10_000

type EmailSettings = Config['notify']['email']

/** Whether somebody is told by e-mail. */
export function isEmailSet({ host, to }: EmailSettings): boolean {
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
    connectionTimeout: patienceMs,
    greetingTimeout: patienceMs,
    socketTimeout: patienceMs,
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
