import { z } from 'zod'
import { count, milliseconds, optionalText, section } from './setting-kinds.ts'

/** What people can be told of: the ends of runs that need them, runs that do not end, and that all is well again. */
const notifiableEvents = ['failed', 'partial', 'late', 'slow', 'recovered'] as const

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * What is told names hotels' troubles and needs TLS on any network; credentials in an address would be shown with it.
 */
function isReceiver(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  return (protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))) && username + password === ''
}

const receiver = (text: string) =>
  z
    .string()
    .min(1)
    .refine(
      isReceiver,
      'is no address; it looks like https://hooks.example.com/…, without credentials; http only on loopback',
    )
    .nullable()
    .default(null)
    .describe(text)

/** One address, without a name: what stands in a header cannot begin another. */
const mailbox = z
  .string()
  .regex(/^[^\s@<>,;:"()[\]\\]+@[^\s@<>,;:"()[\]\\]+$/, 'is no e-mail address; it looks like nights@example.com')

/** What the library calls a finding that is not its own. */
const own = 'custom' as const

const emailSettings = section(
  {
    host: optionalText('Mail server; null: no e-mail is sent.'),
    port: count('Its port: 587 for starttls, 465 for implicit.', 587, 1, 65_535),
    tls: z
      .enum(['starttls', 'implicit', 'none'])
      .default('starttls')
      .describe(
        'How the connection is encrypted: after a greeting, from the first byte, or not at all, on loopback only.',
      ),
    user: optionalText('Whom to log in as; null: nobody.'),
    password: optionalText('The password. Keep it out of the file: NIGHTFERRY_NOTIFY_EMAIL_PASSWORD, or …_FILE.'),
    from: mailbox.nullable().default(null).describe('Sender.'),
    to: z.array(mailbox).max(20).default([]).describe('Receivers.'),
  },
  'The same messages by e-mail, also beside notify.url.',
).superRefine(({ host, tls, from, to, user, password }, check) => {
  if (host === null) return
  const wrong = (name: string, message: string) => check.addIssue({ code: own, path: [name], message })
  if (tls === 'none' && !loopback.test(host)) wrong('tls', 'is none, and the server is beyond loopback')
  if (from === null) wrong('from', 'is not set: who sends the e-mail?')
  if (to.length === 0) wrong('to', 'names nobody')
  if ((user === null) !== (password === null)) wrong('password', 'and user belong together: set both, or none')
})

/** Who is told how runs end. */
export const notifySettings = section(
  {
    url: receiver(
      'Receives a POST when a run needs a person, and when all is well again; null: nobody is told. Anyone who knows the address can write there, so keep it out of the file: NIGHTFERRY_NOTIFY_URL.',
    ),
    format: z
      .enum(['json', 'slack', 'teams'])
      .default('json')
      .describe('What the receiver understands: our JSON, or the incoming webhooks of Slack or Microsoft Teams.'),
    email: emailSettings,
    on: z
      .array(z.enum(notifiableEvents))
      .default([...notifiableEvents])
      .describe('Which events are told. A cause is told once, not every night.'),
    partialRows: count(
      'Nightferry tells of a partial run if at least so many rows need a person.',
      1,
      1,
      1_000_000_000,
    ),
    lateAfterMs: milliseconds(
      'A scheduled run is late if it has not ended so long after its time; 0: none is. A daemon has to be up to notice.',
      0,
    ),
    heartbeatUrl: receiver(
      'Called with GET after each run that did not fail, for a monitor that raises an alarm when the calls stop. NIGHTFERRY_NOTIFY_HEARTBEAT_URL.',
    ),
  },
  'Who is told how runs end.',
)
