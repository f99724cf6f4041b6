/** The kinds of row that a partner can deliver, in the order in which a person thinks of them. */
export const streamNames = [
  'properties',
  'framework_answers',
  'omissions',
  'calculator_inputs',
  'calculator_settings',
  'custom_property_values',
  'standard_holders',
] as const
export type StreamName = (typeof streamNames)[number]

/** Whether a stream is one of those above; the others come with a kind of request that the contract file describes. */
export function isOurStream(name: string): name is StreamName {
  return (streamNames as readonly string[]).includes(name)
}

/** The job that does what all others do that carry data. */
export const night = 'nightly-sync'

/** Jobs that carry no data of the partner or of the service's computations. */
const carryNothing = ['housekeeping', 'refresh-reference']

/** Whether a job carries data of the partner or of the service's computations. Pure. */
export function carriesData(job: string): boolean {
  return !carryNothing.includes(job)
}

type Scheduled = { schedule: string | null }

/** The schedules of a configuration. */
type Schedules = {
  jobs: Readonly<Record<typeof night, Scheduled>>
  pull: { searches: readonly ({ name: string } & Scheduled)[] }
}

/**
 * The jobs by whose runs one judges whether the data are carried through: the night where it has a schedule, because it
 * does what the others do; else every job that carries data and has one. A search of `pull.searches` counts only where
 * nothing else has a schedule: many are made once a week. Where none has, the night. Pure.
 */
export function carryingJobs({ jobs, pull }: Schedules): string[] {
  if (jobs[night].schedule !== null) return [night]
  const searches = pull.searches.map(({ name, schedule }) => [`search:${name}`, { schedule }] as const)
  for (const some of [Object.entries<Scheduled>(jobs), searches]) {
    const scheduled = some.filter(([job, { schedule }]) => schedule !== null && carriesData(job))
    if (scheduled.length > 0) return scheduled.map(([job]) => job)
  }
  return [night]
}
