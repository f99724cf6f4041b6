import { z } from 'zod'
import { count, milliseconds, optionalText, section } from './setting-kinds.ts'

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
    maxConnections: count('Connections at once; further ones are closed.', 512, 8, 10_000),
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
