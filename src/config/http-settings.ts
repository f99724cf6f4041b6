import { z } from 'zod'
import { count, milliseconds, optionalText, section } from './setting-kinds.ts'

/** Shorter ones could be found by trying. */
const shortestToken = 16

const token = (text: string) =>
  z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'has a space or a letter beyond ASCII, which no HTTP header can carry as it is')
    .min(shortestToken, `is shorter than ${shortestToken} characters; openssl rand -hex 32 makes a good one`)
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
      'Who bears it may read and act. Without it only health, metrics and the description are served. NIGHTFERRY_HTTP_TOKEN, or NIGHTFERRY_HTTP_TOKEN_FILE naming a file.',
    ),
    readToken: token('Who bears it may read, and not act. NIGHTFERRY_HTTP_READ_TOKEN.'),
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
      'Connections at once. One more takes the place of the oldest that is not being answered.',
      64,
      1,
      10_000,
    ),
    statementTimeoutMs: milliseconds('How long one query of a request may take.', 20_000, 100),
    freshWithinMs: milliseconds(
      'The data are fresh if a run that started within this time ended well or partly; /freshz says so. 26 hours: a night, and two hours for it to run.',
      93_600_000,
      1_000,
    ),
  },
  'The HTTP API, health checks and metrics of nightferry serve.',
)
