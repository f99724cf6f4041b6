import { z } from 'zod'
import { count, isConfidentialAddress, isLoopback, milliseconds, optionalText, section } from './setting-kinds.ts'

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: text })
    return true
  } catch {
    return false
  }
}

/**
 * What keeps a text from being a schedule, or null. The calendar takes more than cron with five fields: it fills in
 * missing ones at the front, reads a sixth as seconds, and draws an `H` by lot whenever it reads one. Pure.
 */
function scheduleProblem(schedule: string): string | null {
  const example = 'as in 30 2 * * *'
  if (/^@(?!secondly$)[a-z]+$/.test(schedule)) return null
  const { length } = schedule.split(/\s+/).filter((field) => field !== '')
  if (length !== 5) {
    const has = `has ${length} ${length === 1 ? 'field' : 'fields'}`
    return `${has}, and a cron expression has five (minute, hour, day of the month, month, day of the week), ${example}`
  }
  if (!/H/.test(schedule.replaceAll(/thu/gi, ''))) return null
  return `has an H, which stands for another time at each look; write the time itself, ${example}`
}

/** When a job starts by itself. */
const scheduleSettings = {
  schedule: optionalText('Cron expression with five fields; null: only by hand. Example: "30 2 * * *".').superRefine(
    (schedule, check) => {
      const problem = schedule === null ? null : scheduleProblem(schedule)
      if (problem !== null) check.addIssue(problem)
    },
  ),
  timeZone: z
    .string()
    .refine(isTimeZone, 'is no time zone; it looks like Europe/Copenhagen')
    .default('UTC')
    .describe('Time zone of the schedule, as in Europe/Copenhagen.'),
  missed: z
    .enum(['skip', 'once'])
    .default('once')
    .describe(
      'What to do about a run that fell due while no daemon was up, or while the job was paused: skip it, or catch up once, as soon as a daemon is up and the job is not paused.',
    ),
  finishBy: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'is no time of day; it looks like 06:30')
    .nullable()
    .default(null)
    .describe(
      'Time of day in the time zone by which a run has to have ended; null: none. People are told as soon as it will not.',
    ),
}

/** When each job starts. The searches of `pull.searches` have the same settings in their own entries. */
export const jobSettings = section(
  {
    'nightly-sync': section(scheduleSettings, 'The nightly run.'),
    'refresh-reference': section(scheduleSettings, 'Fetches the reference data of the service.'),
    push: section(scheduleSettings, 'Reads what changed at the partner and sends it.'),
    'pull-calculators': section(scheduleSettings, 'Brings the computed calculators back.'),
    housekeeping: section(scheduleSettings, 'Removes what is older than it has to be kept.'),
  },
  'When things happen.',
)

/** A request whose answer was lost is told from older ones by what is known of these. */
const shortestRunsDays = 30

const days = (text: string, value: number) => count(`${text} Days; 0: for ever.`, value, 0, 36_500)

/** What the job `housekeeping` removes. */
export const housekeepingSettings = section(
  {
    keepRunsDays: days(
      'How long runs are kept, with their requests and the rows that these carried. What a row, a report, a body, a change or an action still names stays as long as that. At least 30, if not for ever.',
      400,
    ).refine((value) => value === 0 || value >= shortestRunsDays, `is neither 0 nor at least ${shortestRunsDays}`),
    keepContentsDays: days('How long it is kept what rows said before they changed.', 400),
    keepQuarantineDays: days(
      'How long the table quarantine keeps what was left out of pages. The newest search of each kind keeps all of it.',
      30,
    ),
    keepReportsDays: days('How long the reports of runs are kept. The newest of each job stays.', 400),
    keepNotificationsDays: days('How long it is kept what people were told of runs.', 90),
    keepQueueDays: days('How long looks of the queue are kept that are done, if the queue has not removed them.', 7),
    keepRequestsDays: days('How long answered requests for runs are kept.', 90),
  },
  'What the job housekeeping removes.',
)

/** The searches whose pages are kept as documents, by their endpoint in the contract. */
export const documentSearches = [
  'companiesSearch',
  'standardsSearch',
  'standardHoldersSearch',
  'frameworkAnswersSearch',
] as const

const search = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/, 'is no name in lower case, such as all_standards')
    .max(63)
    .describe('Name of its own, under which its documents are found.'),
  search: z.enum(documentSearches).describe('Which search it is: the name of its endpoint in the contract.'),
  body: z
    .record(z.string(), z.unknown())
    .refine(isJson, 'holds what JSON cannot say')
    .default({})
    .describe('Body of the request, sent as JSON as it stands here.'),
  ids: z
    .record(z.string(), z.array(z.string().min(1)).min(1))
    .default({})
    .describe('By list: the members of its elements that make up their id, where it is not as the contract says.'),
  minSeenShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe(
      'If a list of it returns fewer elements than this share of those known, nothing is removed from that list. 0 to 1.',
    ),
  ...scheduleSettings,
})

/** The setting `pull.searches`. */
export const pullSearches = z
  .array(search)
  .default([])
  .refine((searches) => new Set(searches.map(({ name }) => name)).size === searches.length, 'has two of one name')
  .describe('Searches for other things than calculators, whose pages are kept as documents; empty: none is made.')

export type SearchSettings = z.infer<typeof search>

/** YAML can write numbers that JSON has no words for. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return ['string', 'boolean', 'object'].includes(typeof value)
  return Object.values(value).every(isJson)
}

/** What people can be told of: the ends of runs that need them, runs that do not end, and that all is well again. */
const notifiableEvents = ['failed', 'partial', 'late', 'slow', 'recovered'] as const

/**
 * What is told names hotels' troubles and needs TLS on any network; credentials in an address would be shown with it.
 */
const receiver = (text: string) =>
  z
    .string()
    .min(1)
    .refine(
      isConfidentialAddress,
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
  if (tls === 'none' && !isLoopback(host)) wrong('tls', 'is none, and the server is beyond loopback')
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
      .describe('Which events are told. A cause is told once, not every night, unless it grows much.'),
    partialRows: count(
      'Nightferry tells of a partial run if at least so many rows need a person.',
      1,
      1,
      1_000_000_000,
    ),
    againFactor: z
      .number()
      .min(1)
      .max(1_000_000_000)
      .default(2)
      .describe(
        'A cause that was told is told again once there is so many times as much of it, and at least 10 more, as when it was told last or since then at the least: of rows that were rejected, of pages that failed, and so on.',
      ),
    lateAfterMs: milliseconds(
      'A scheduled run is late if it has not ended so long after its time; 0: none is. A daemon has to be up to notice.',
      0,
    ),
    heartbeatUrl: receiver(
      'Called with GET after each nightly-sync that did all of its job, carried the data through and did not fail, for a monitor that raises an alarm when the calls stop; where nightly-sync has no schedule, after each such run of any job but housekeeping and refresh-reference. NIGHTFERRY_NOTIFY_HEARTBEAT_URL.',
    ),
  },
  'Who is told how runs end.',
)
