import type { Config } from './schema.ts'

/** The job that does what all others do that carry data. */
export const night = 'nightly-sync'

/** Jobs that carry no data of the partner or of the service's computations. */
const carryNothing = ['housekeeping', 'refresh-reference']

/** Whether a job carries data of the partner or of the service's computations. Pure. */
export function carriesData(job: string): boolean {
  return !carryNothing.includes(job)
}

/**
 * The jobs by whose runs one judges whether the data are carried through: the night where it has a schedule, because it
 * does what the others do; else every job that carries data and has one. Where none has, the night. Pure.
 */
export function carryingJobs({ jobs, pull }: Pick<Config, 'jobs' | 'pull'>): string[] {
  if (jobs[night].schedule !== null) return [night]
  const searches = pull.searches.map(({ name, schedule }) => [`search:${name}`, { schedule }] as const)
  const scheduled = [...Object.entries(jobs), ...searches]
    .filter(([job, { schedule }]) => schedule !== null && carriesData(job))
    .map(([job]) => job)
  return scheduled.length > 0 ? scheduled : [night]
}
