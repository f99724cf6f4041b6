import { z } from 'zod'
import { addressProblem } from './database-address.ts'
import { httpSettings, webhookSettings } from './http-settings.ts'
import { housekeepingSettings, jobSettings, notifySettings, pullSearches } from './job-settings.ts'
import { lookupSettings } from './lookup-settings.ts'
import { proxyProblem } from './proxy-address.ts'
import { pushSettings, stream, streamName } from './push-settings.ts'
import { bytes, count, isConfidentialAddress, milliseconds, optionalText, section } from './setting-kinds.ts'

export { isOurStream, type StreamName, streamNames } from './known-names.ts'
export type { StreamConfig } from './push-settings.ts'
export { notMatchedCode } from './push-settings.ts'

/** The whole base address without the paths of the API, which are added to it; null where it has none of them. */
function withoutApiPath(text: string): string | null {
  if (!URL.canParse(text)) return null
  const { origin, pathname } = new URL(text)
  const kept = pathname.replace(/\/api(\/v?\d+)?\/*$/i, '')
  return kept === pathname ? null : `${origin}${kept}`
}

function ownDatabaseProblem(text: string): string | null {
  const problem = addressProblem(text, 'postgres')
  if (problem !== null || /^(postgres|postgresql|socket|embedded):/i.test(text)) return problem
  return 'is the address of no PostgreSQL; it looks like postgres://user:password@host:5432/database, or is `embedded`'
}

/**
 * Every setting, with its default and unit. `config/nightferry.yaml` lists the same for people, and
 * `config/nightferry.schema.json` for editors; a test keeps the three equal.
 */
export const settings = z.strictObject({
  exchange: section(
    {
      baseUrl: z
        .string()
        .min(1)
        .superRefine((text, context) => {
          // The key travels with every call, so it needs TLS on any network; credentials would be shown with it.
          if (!isConfidentialAddress(text)) {
            context.addIssue(
              'is no address; it looks like https://exchange.example.com, without credentials; http only on loopback',
            )
            return
          }
          if (/[?#]/.test(text)) context.addIssue('has a ? or a #; paths are added to it, and a query would be lost')
          const base = withoutApiPath(text)
          if (base !== null) context.addIssue(`ends in the path of the API, which is added to it; write ${base}`)
        })
        .nullable()
        .default(null)
        .describe('Base address of the Bulk Data Exchange Service, without /api. Environment: EXCHANGE_BASE_URL.'),
      apiKey: optionalText(
        'API key. Keep it out of the file: EXCHANGE_API_KEY, or EXCHANGE_API_KEY_FILE naming a file.',
      ),
      proxy: z
        .string()
        .superRefine((text, context) => {
          const problem = proxyProblem(text)
          if (problem !== null) context.addIssue(problem)
        })
        .nullable()
        .default(null)
        .describe(
          'HTTP proxy that leads to the service and to the hosts of result files, as http://user:password@host:port, or https; null: they are called directly. Keep a password out of the file: NIGHTFERRY_EXCHANGE_PROXY, or NIGHTFERRY_EXCHANGE_PROXY_FILE naming a file.',
        ),
      contract: optionalText('File with the wire names; null: the one that comes with Nightferry.'),
      customIdentifierId: z
        .guid()
        .nullable()
        .default(null)
        .describe("Id of the custom property that holds the partner's ids (isIdentifier: true)."),
      groupId: z
        .guid()
        .nullable()
        .default(null)
        .describe('Id of the group that holds the companies; the calculator upsert needs it.'),
      concurrency: count('Calls to the service at once, per process.', 4, 1, 64),
      requestsPerSecond: count(
        'Calls to the service a second at most, of all processes together that use one database and API key.',
        20,
        1,
        1000,
      ),
      probeIntervalMs: milliseconds(
        'While the service does not accept the API key (401): time between two calls that ask whether it does again. No other is made.',
        60_000,
        100,
      ),
      connectTimeoutMs: milliseconds('How long a connection may take to come up.', 10_000, 100),
      headersTimeoutMs: milliseconds('How long the service may take to begin an answer.', 60_000, 100),
      bodyTimeoutMs: milliseconds('How long an answer may pause.', 60_000, 100),
      maxAnswerBytes: bytes(
        'Largest answer read into memory; result files are streamed and have limits of their own.',
        32 * 1024 * 1024,
      ),
      pollIntervalMs: milliseconds(
        'Time between polls of a task; the first three come sooner, after an eighth, a quarter and a half of it. The specification forbids tight loops and names no limit.',
        15_000,
        100,
      ),
      giveUpAfterMs: milliseconds(
        'How long a run goes on trying when the service cannot be reached or answers with faults. Nothing is lost: the next run goes on.',
        900_000,
        1_000,
      ),
      taskPatienceMs: milliseconds(
        'How long a run waits for one task to end. After that it goes on without it: its rows stay with it, and later runs look at it again. Half of a night, so that a push and a search that both never end still leave a report in the morning.',
        14_400_000,
        1_000,
      ),
    },
    'The service.',
  ),
  database: section(
    {
      url: z
        .string()
        .min(1)
        .superRefine((text, context) => {
          const problem = text === 'embedded' ? null : ownDatabaseProblem(text)
          if (problem !== null) context.addIssue(problem)
        })
        .default('embedded')
        .describe(
          "Nightferry's own Postgres (15 to 18) as a URL, or `embedded`: a real PostgreSQL 18 of its own. Environment: DATABASE_URL.",
        ),
      folder: z
        .string()
        .min(1)
        .default('.nightferry')
        .describe('Where the embedded server keeps its data, relative to the working folder.'),
      name: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,62}$/, 'a lower-case database name')
        .default('nightferry')
        .describe('Database of the embedded server; ignored with a URL.'),
    },
    'Where Nightferry keeps what it knows.',
  ),
  partner: section(
    {
      url: z
        .string()
        .min(1)
        .superRefine((text, context) => {
          const problem = addressProblem(text, 'postgres')
          if (problem !== null) context.addIssue(problem)
        })
        .nullable()
        .default(null)
        .describe("The partner's database, read only. Environment: PARTNER_DATABASE_URL."),
      statementTimeoutMs: milliseconds('How long one statement there may take; 0: no limit.', 3_600_000),
      fetchRows: count('Rows fetched at a time by the server-side cursor.', 5_000, 1, 100_000),
      overlapMs: milliseconds(
        'How far before the watermark a run reads again when the cursor is a time, so that rows committed late are seen. Rows read twice are compared, not sent twice.',
        600_000,
      ),
    },
    'Where the hotels live.',
  ),
  streams: z
    .partialRecord(streamName, stream)
    .prefault({})
    .describe(
      'What is read from the partner. A stream that is not named here is not read. Beside ours there are those of the kinds that the contract file adds.',
    ),
  lookups: lookupSettings,
  guard: section(
    {
      maxChangedShare: z
        .number()
        .min(0)
        .default(0.5)
        .describe(
          'A run that would change, add or find gone a larger share of the rows of a stream sends nothing and leaves a plan to approve. 0.5: half of the rows known so far.',
        ),
      minRows: count('Fewer rows than this are never held for their share.', 100, 0, 1_000_000_000),
    },
    'What stops a run before anything is sent.',
  ),
  push: pushSettings,
  pull: section(
    {
      customPropertyIds: z.array(z.guid()).default([]).describe('Custom properties to bring back with each company.'),
      calculatorTypeIds: z.array(z.guid()).default([]).describe('Calculator types to bring back; empty: all.'),
      searches: pullSearches,
      pagesAtOnce: count('Pages loaded side by side, per process.', 2, 1, 16),
      minSeenShare: z
        .number()
        .min(0)
        .max(1)
        .default(0.5)
        .describe(
          'What a search or a page shows a smaller share of than is known of it (companies, calculators, inputs, outputs, property values) it does not remove: that is suspicious. A person lets it through with accept-removals. 0 to 1.',
        ),
      history: z
        .boolean()
        .default(false)
        .describe('Record what each value was before it changed, and when. Switched off, the history begins again.'),
      keepHistoryDays: count('How long recorded changes of values are kept. Days; 0: for ever.', 0, 0, 36_500),
      keepRemovedDays: count(
        'How long removed values and property values can be brought back. Days; 0: for ever.',
        30,
        0,
        36_500,
      ),
      maxPageBytes: bytes('Largest page, as downloaded.', 4 * 1024 ** 3),
      maxInflatedBytes: bytes('Largest page, decompressed.', 16 * 1024 ** 3),
      maxElementSize: count(
        'Largest single company of a page, held in memory: its bytes, and 8 more for each of { } [ ] : , outside its texts.',
        16 * 1024 * 1024,
        1024,
        256 * 1024 * 1024,
      ),
      maxDepth: count('Deepest nesting accepted in a page.', 64, 8, 1000),
      allowedHosts: z
        .array(z.string().min(1))
        .default([])
        .describe(
          'Hosts from which result files may come although their addresses are private. With exchange.proxy also: hosts whose names the proxy looks up, and not this machine.',
        ),
    },
    'The way back.',
  ),
  jobs: jobSettings,
  housekeeping: housekeepingSettings,
  notify: notifySettings,
  http: httpSettings,
  webhooks: webhookSettings,
  engine: section(
    {
      submissionsAtOnce: count('Submissions looked after at once, per process.', 4, 1, 64),
      jobPollMs: milliseconds('How often due jobs are looked for; new ones are announced at once.', 1_000, 500),
      heartbeatSeconds: count('A worker that misses its heartbeat for so long is taken for dead. Seconds.', 30, 10, 60),
      shutdownMs: milliseconds('How long a stopping process waits for the work at hand.', 8_000, 0),
    },
    'How the work is shared.',
  ),
  log: section(
    {
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('The least important events written.'),
    },
    'What is written down.',
  ),
})

export type Config = z.infer<typeof settings>

/**
 * Settings that contain or may contain secrets: hidden wherever configuration is shown, refused on the command line.
 */
export const secretPaths = [
  'exchange.apiKey',
  'exchange.proxy',
  'database.url',
  'partner.url',
  'notify.url',
  'notify.heartbeatUrl',
  'notify.email.password',
  'http.token',
  'http.readToken',
  'webhooks.secrets',
  'webhooks.headerValue',
] as const
