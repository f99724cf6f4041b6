import { z } from 'zod'
import { count, optionalText, section } from './setting-kinds.ts'

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: text })
    return true
  } catch {
    return false
  }
}

/** When a job starts by itself. */
export const scheduleSettings = {
  schedule: optionalText('Cron expression with five fields; null: only by hand. Example: "30 2 * * *".'),
  timeZone: z
    .string()
    .refine(isTimeZone, 'is no time zone; it looks like Europe/Copenhagen')
    .default('UTC')
    .describe('Time zone of the schedule, as in Europe/Copenhagen.'),
  missed: z
    .enum(['skip', 'once'])
    .default('once')
    .describe('What to do at start about a run that fell due while no daemon was up: skip it, or catch up once.'),
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
      'How long runs are kept, with their requests and the rows that these carried. What a row, a report, a body, a change or an action still names stays as long as that.',
      400,
    ).refine((value) => value === 0 || value >= shortestRunsDays, `is neither 0 nor at least ${shortestRunsDays}`),
    keepContentsDays: days('How long it is kept what rows said before they changed.', 400),
    keepReportsDays: days('How long the reports of runs are kept. The newest of each job stays.', 400),
    keepNotificationsDays: days('How long it is kept what people were told of runs.', 90),
    keepQueueDays: days('How long looks of the queue are kept that are done, if the queue has not removed them.', 7),
    keepRequestsDays: days('How long answered requests for runs are kept.', 90),
  },
  'What the job housekeeping removes.',
)
