import { carryingJobs, hasStreams, isSending, night, pulling, sendingJobs } from '../config/known-names.ts'
import type { Config } from '../config/schema.ts'
import type { Run } from '../db/tables/run-tables.ts'
import { compareDocuments, repairDifferences } from '../pipeline/compare/compare-documents.ts'
import { compareInputs } from '../pipeline/compare/compare-inputs.ts'
import { extract } from '../pipeline/delta/extract.ts'
import type { Deps } from '../pipeline/deps.ts'
import { preflight } from '../pipeline/preflight/preflight.ts'
import { completeDocuments, planDocuments } from '../pipeline/pull/documents/document-searches.ts'
import { completeSearch, planSearch } from '../pipeline/pull/search/whole-search.ts'
import { noteUnknownTasks } from '../pipeline/push/sending/unknown-tasks.ts'
import { planWave } from '../pipeline/push/waves/plan-wave.ts'
import { fetchReferenceData } from '../pipeline/reference/fetch-reference-data.ts'
import { finishWithReport } from '../pipeline/report/finish-with-report.ts'
import { housekeeping } from './housekeeping.ts'
import type { Job, Step } from './job.ts'

/** What the service has and knows, before anything is read or sent. */
const reference: Step = {
  name: 'reference',
  run: async (deps, run) => {
    await fetchReferenceData(deps, run)
    return await once(noteUnknownTasks(deps, run))
  },
}

/** The way of rows to the service. */
const wayOut: Job['steps'] = [
  reference,
  { name: 'extract', run: (deps, run) => once(extract(deps, run)) },
  { name: 'preflight', run: (deps, run) => once(preflight(deps, run)) },
  {
    name: 'push',
    run: async (deps, run) => {
      await noteUnknownTasks(deps, run)
      return until(await planWave(deps, run))
    },
  },
]

/**
 * Every night: learn what the service knows, read what changed at the partner, refuse what cannot be right, send the
 * rest wave by wave until nothing is ready and nothing is in flight, bring the computed calculators back and what other
 * searches find, and say what became of everything.
 */
export const nightlySync: Job = {
  name: 'nightly-sync',
  steps: [
    ...wayOut,
    { name: 'pull', run: async (deps, run) => until(await planSearches(deps, run)) },
    { name: 'reconcile', run: (deps, run) => once(completeSearches(deps, run)) },
    { name: 'compare', run: (deps, run) => once(compareWithService(deps, run)) },
    { name: 'report', run: (deps, run) => once(finishWithReport(deps, run)) },
  ],
}

/** All searches are planned at once, and none waits for another. */
async function planSearches(deps: Deps, run: Run): Promise<boolean> {
  const calculators = await planSearch(deps, run)
  return (await planDocuments(deps, run)) || calculators
}

/**
 * What was accepted is checked against what the service shows, for every kind of row, and what is missing is sent
 * again.
 */
async function compareWithService(deps: Deps, run: Run): Promise<void> {
  await compareInputs(deps, run)
  await compareDocuments(deps, run)
  await repairDifferences(deps, run)
}

async function completeSearches(deps: Deps, run: Run): Promise<void> {
  await completeSearch(deps, run)
  await completeDocuments(deps, run)
}

async function once(work: Promise<void>): Promise<'done'> {
  await work
  return 'done'
}

function until(underWay: boolean): 'done' | 'waiting' {
  return underWay ? 'waiting' : 'done'
}

const report: Step = { name: 'report', run: (deps, run) => once(finishWithReport(deps, run)) }

const refreshReference: Job = { name: 'refresh-reference', steps: [reference, report] }

const push: Job = { name: 'push', steps: [...wayOut, report] }

const pullCalculators: Job = {
  name: pulling,
  steps: [
    { name: 'pull', run: async (deps, run) => ((await planSearch(deps, run)) ? 'waiting' : 'done') },
    { name: 'reconcile', run: (deps, run) => once(completeSearch(deps, run)) },
    report,
  ],
}

function searchJob(search: string): Job {
  return {
    name: `${searchPrefix}${search}`,
    steps: [
      { name: 'pull', run: async (deps, run) => ((await planDocuments(deps, run, search)) ? 'waiting' : 'done') },
      { name: 'reconcile', run: (deps, run) => once(completeDocuments(deps, run)) },
      report,
    ],
  }
}

const searchPrefix = 'search:'

/**
 * Every job there is: those that always are, and one for each search of `pull.searches`. Without a stream there is
 * nothing to send, and none that would.
 */
export function jobsOf(config: Config): Job[] {
  const searches = config.pull.searches.map(({ name }) => searchJob(name))
  const jobs = [nightlySync, refreshReference, push, pullCalculators, ...searches, housekeeping]
  return hasStreams(config) ? jobs : jobs.filter(({ name }) => !isSending(name))
}

/** Why a configuration has no job of a name, with those that it has. */
export function noJobWords(config: Config, name: string): string {
  const names = jobsOf(config).map((job) => job.name)
  if (isSending(name)) {
    return `${name} reads the partner's rows and sends them, and streams names no stream; there are ${names.join(', ')}`
  }
  const more = hasStreams(config) ? '' : `, and with streams ${sendingJobs.join(' and ')}`
  return `There is no job ${name}; there are ${names.join(', ')}${more}`
}

type Schedule = Config['jobs']['nightly-sync']

const never: Schedule = { schedule: null, timeZone: 'UTC', missed: 'skip', finishBy: null }

/** When a job starts by itself. */
export function scheduleOf(config: Config, job: string): Schedule {
  if (job.startsWith(searchPrefix)) {
    return config.pull.searches.find(({ name }) => `${searchPrefix}${name}` === job) ?? never
  }
  return config.jobs[job as keyof Config['jobs']] ?? never
}

/**
 * The one time zone in which the console and its sentences say the time: that of the jobs by which one judges whether
 * the data are carried through, and of the first of several, whichever of them begins next. Pure.
 */
export function shownZone(config: Config): string {
  const [first = night] = carryingJobs(config)
  return scheduleOf(config, first).timeZone
}
