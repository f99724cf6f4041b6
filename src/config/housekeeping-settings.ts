import { count, section } from './setting-kinds.ts'

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
    keepNotificationsDays: days('How long messages about runs are kept.', 90),
    keepQueueDays: days('How long looks of the queue are kept that are done, if the queue has not removed them.', 7),
    keepRequestsDays: days('How long answered requests for runs are kept.', 90),
  },
  'What the job housekeeping removes.',
)
