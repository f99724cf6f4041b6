import { z } from 'zod'
import { count, milliseconds, optionalText, section } from './setting-kinds.ts'

/** Connections to the database that the API holds at most. */
export const httpConnections = 3

/** Shorter ones could be found by trying. */
const shortestToken = 16

/** The tokens of a setting: while they are exchanged it has several, one per line or with spaces between. Pure. */
export function tokensOf(setting: string | null): string[] {
  return (setting ?? '').split(/\s+/).filter((token) => token !== '')
}

const tooShort = `has a token of fewer than ${shortestToken} characters; openssl rand -hex 32 makes a good one`

const token = (text: string) =>
  z
    .string()
    .regex(/^[\s\x21-\x7e]*$/, 'has a letter beyond ASCII, which no HTTP header can carry as it is')
    .refine((setting) => tokensOf(setting).length > 0, 'has no token')
    .refine((setting) => tokensOf(setting).every(({ length }) => length >= shortestToken), tooShort)
    .nullable()
    .default(null)
    .describe(text)

/** The HTTP API of `nightferry serve`: health, metrics, and what the verbs show and do. */
export const httpSettings = section(
  {
    port: z
      .number()
      .int()
      .min(0)
      .max(65_535)
      .nullable()
      .default(null)
      .describe('Port of the HTTP API of nightferry serve; null: it has none, 0: any free port, which the log names.'),
    host: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .describe(
        'Address that it listens on. Beyond loopback it needs http.token, http.allowedHosts, and TLS or http.plain.',
      ),
    token: token(
      'Who bears it may read and act. Without it only health, metrics and the description are served. NIGHTFERRY_HTTP_TOKEN, or NIGHTFERRY_HTTP_TOKEN_FILE naming a file. Several during a rotation, each on a line or with spaces between: each is good, and the first signs in to the console.',
    ),
    readToken: token(
      'Who bears it may read, and not act. NIGHTFERRY_HTTP_READ_TOKEN, or NIGHTFERRY_HTTP_READ_TOKEN_FILE naming a file. Several during a rotation, as of http.token.',
    ),
    allowedHosts: z
      .array(z.string().regex(/^[a-z0-9.:[\]-]+$/, 'is no host name in lower case, without port and scheme'))
      .default([])
      .describe(
        'Names by which clients reach it, besides those of loopback; a request for any other host is refused, so that no web page can reach it by a name of its own.',
      ),
    certificateFile: optionalText('PEM file with the certificate, and those between it and the root, for TLS.'),
    keyFile: optionalText('PEM file with the private key of the certificate.'),
    plain: z
      .boolean()
      .default(false)
      .describe('Serve without TLS beyond loopback: only where something else on the way encrypts, such as a proxy.'),
    connections: count(
      'Connections at once. One more takes the place of the oldest that is not being answered, or of one that does not take its answer.',
      64,
      1,
      10_000,
    ),
    statementTimeoutMs: milliseconds('How long one query of a request may take.', 20_000, 100),
    freshWithinMs: milliseconds(
      'The data are fresh if a run that started within this time did all of its job and carried the data through; /freshz says so. Where nightly-sync has no schedule, push and pull-calculators count as far as they have one, and searches where neither has. 26 hours: a night, and two hours for it to run.',
      93_600_000,
      1_000,
    ),
  },
  'The HTTP API, health checks and metrics of nightferry serve.',
)

/** What HTTP allows as the name of a header. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The receiver of the service's webhooks. Whether a secret is one is found out when the receiver starts. */
export const webhookSettings = section(
  {
    secrets: z
      .array(z.string().min(1, 'is empty'))
      .default([])
      .describe(
        'Signing secrets of our webhooks at the service; without one nothing listens. Several during a rotation: each is good. Keep them out of the file: EXCHANGE_WEBHOOK_SECRET, or EXCHANGE_WEBHOOK_SECRET_FILE naming a file; several are separated by commas, in a file also by lines.',
      ),
    headerName: z
      .string()
      .regex(headerName, 'is not a name that a header can have')
      .nullable()
      .default(null)
      .describe('Name of the custom header that the webhook was given at the service; null: it has none.'),
    headerValue: optionalText(
      'What that header must say. Keep it out of the file: EXCHANGE_WEBHOOK_HEADER_VALUE, or EXCHANGE_WEBHOOK_HEADER_VALUE_FILE naming a file.',
    ),
    host: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .describe('Address to listen on. The receiver speaks plain HTTP: a reverse proxy in front of it has the TLS.'),
    port: count('Port to listen on; 0: any free one.', 4720, 0, 65_535),
    path: z
      .string()
      .regex(/^\/[A-Za-z0-9._~/-]*$/, 'is not a path; it looks like /webhooks')
      .default('/webhooks')
      .describe('The only path that is answered.'),
    headersTimeoutMs: milliseconds(
      'How long a client may take for its headers, and twice as long for all it sends.',
      5_000,
      100,
    ),
    maxConnections: count(
      'Connections at once. One more takes the place of the oldest that is not being answered, or of one that does not take its answer.',
      512,
      8,
      10_000,
    ),
    pollStretch: z
      .number()
      .min(1)
      .max(100)
      .default(4)
      .describe(
        'By how much the time between polls of a task grows while webhooks are on time; 1: not at all. The first three polls come as ever.',
      ),
    maxPollIntervalMs: milliseconds(
      'Longest time between two polls of a task however far it is stretched. What is lost is found this much later.',
      120_000,
      1_000,
    ),
    keepDays: count(
      'How long events of tasks are kept. The service can send one again for 30 days. Days.',
      31,
      2,
      3_650,
    ),
    keepApplicationDays: count(
      'How long events of certification applications are kept. Days; 0: for ever.',
      0,
      0,
      36_500,
    ),
  },
  'The webhooks that the service sends us.',
)
