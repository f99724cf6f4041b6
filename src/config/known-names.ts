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

/** The jobs that read the partner's rows and send them; without a stream there are none of them. */
export const sendingJobs = [night, 'push'] as const

/** The job that brings the computed calculators back, and nothing else. */
export const pulling = 'pull-calculators'

/** Jobs that carry no data of the partner or of the service's computations. */
const carryNothing = ['housekeeping', 'refresh-reference']

/** Whether rows are read and sent. Without a stream Nightferry only reads at the service. Pure. */
export function hasStreams({ streams }: { streams: Readonly<Record<string, unknown>> }): boolean {
  return Object.values(streams).some((stream) => stream !== undefined)
}

export function isSending(job: string): boolean {
  return (sendingJobs as readonly string[]).includes(job)
}

/** Whether a job carries data of the partner or of the service's computations. Pure. */
export function carriesData(job: string): boolean {
  return !carryNothing.includes(job)
}

type Scheduled = { schedule: string | null }

/** The schedules of a configuration. */
type Schedules = {
  streams: Readonly<Record<string, unknown>>
  jobs: Readonly<Record<typeof night, Scheduled>>
  pull: { searches: readonly ({ name: string } & Scheduled)[] }
}

/**
 * The jobs by whose runs one judges whether the data are carried through: the night where it has a schedule, because it
 * does what the others do; else every job that carries data and has one. A search of `pull.searches` counts only where
 * nothing else has a schedule: many are made once a week. Where none has, the night; without a stream, where nothing is
 * sent, that which brings the calculators back. Pure.
 */
export function carryingJobs({ streams, jobs, pull }: Schedules): string[] {
  const sends = hasStreams({ streams })
  if (sends && jobs[night].schedule !== null) return [night]
  const there = Object.entries<Scheduled>(jobs).filter(([job]) => sends || !isSending(job))
  const searches = pull.searches.map(({ name, schedule }) => [`search:${name}`, { schedule }] as const)
  for (const some of [there, searches]) {
    const scheduled = some.filter(([job, { schedule }]) => schedule !== null && carriesData(job))
    if (scheduled.length > 0) return scheduled.map(([job]) => job)
  }
  return [sends ? night : pulling]
}
