import type { Config } from '../config/schema.ts'
import { extract } from '../pipeline/delta/extract.ts'
import { preflight } from '../pipeline/preflight/preflight.ts'
import { completeDocuments, planDocuments } from '../pipeline/pull/documents/document-searches.ts'
import { completeSearch, planSearch } from '../pipeline/pull/search/whole-search.ts'
import { planWave } from '../pipeline/push/waves/plan-wave.ts'
import { fetchReferenceData } from '../pipeline/reference/fetch-reference-data.ts'
import { finishWithReport } from '../pipeline/report/finish-with-report.ts'
import { housekeeping } from './housekeeping.ts'
import type { Job, Step } from './job.ts'
import { nightlySync } from './nightly-sync.ts'

const reference: Step = { name: 'reference', run: (deps, run) => once(fetchReferenceData(deps, run)) }
const report: Step = { name: 'report', run: (deps, run) => once(finishWithReport(deps, run)) }

const refreshReference: Job = { name: 'refresh-reference', steps: [reference, report] }

const push: Job = {
  name: 'push',
  steps: [
    reference,
    { name: 'extract', run: (deps, run) => once(extract(deps, run)) },
    { name: 'preflight', run: (deps, run) => once(preflight(deps, run)) },
    { name: 'push', run: async (deps, run) => ((await planWave(deps, run)) ? 'waiting' : 'done') },
    report,
  ],
}

const pullCalculators: Job = {
  name: 'pull-calculators',
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

/** Every job there is: those that always are, and one for each search of `pull.searches`. */
export function jobsOf(config: Config): Job[] {
  const searches = config.pull.searches.map(({ name }) => searchJob(name))
  return [nightlySync, refreshReference, push, pullCalculators, ...searches, housekeeping]
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

async function once(work: Promise<void>): Promise<'done'> {
  await work
  return 'done'
}
