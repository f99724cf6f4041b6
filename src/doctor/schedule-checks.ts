import { newestRuns } from '../db/runs/listed-rows.ts'
import { dueOccurrence, nextOccurrence } from '../jobs/due-occurrence.ts'
import { jobsOf, scheduleOf } from '../jobs/known-jobs.ts'
import { nightlySync } from '../jobs/nightly-sync.ts'
import { judgeLastRuns, judgeMissed, judgeSchedules } from './judge-schedule.ts'
import { connectionsAtWork } from './own-database-facts.ts'
import { type Check, on } from './ward.ts'

/** Runs that are looked at: a month of nights. */
const looked = 31

export const scheduleChecks: readonly Check[] = [
  {
    id: 'schedule',
    group: 'schedule',
    why: 'Without a schedule nothing happens by itself.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      return judgeSchedules(
        jobsOf(config).map(({ name }) => {
          const setting = scheduleOf(config, name)
          try {
            return { job: name, setting, next: nextOccurrence(name, setting, ward.now()) }
          } catch (wrong) {
            return { job: name, setting, next: wrong as Error }
          }
        }),
      )
    },
  },
  {
    id: 'missed_run',
    group: 'schedule',
    why: 'A run that falls due while no process is up does not happen, or happens late.',
    run: async (ward) => {
      const config = await on(ward.config, 'configuration')
      const { db } = await on(ward.ledger, 'database_schema')
      const now = ward.now()
      const atWork = await connectionsAtWork(db)
      const newest = await newestRuns(db, looked)
      const found = []
      for (const { name: job } of jobsOf(config)) {
        const due = dueOccurrence(job, scheduleOf(config, job), now)
        const runs = newest.filter((run) => run.job === job)
        if (due !== null) found.push(...judgeMissed({ job, due, now, runs, atWork }))
      }
      return found.length > 0 ? found : judgeMissed({ job: nightlySync.name, due: null, now, runs: newest, atWork })
    },
  },
  {
    id: 'last_runs',
    group: 'schedule',
    why: 'What the last nights came to says how the next one will go.',
    run: async (ward) => {
      const { db } = await on(ward.ledger, 'database_schema')
      const nights = (await newestRuns(db, looked)).filter(({ job }) => job === nightlySync.name)
      return judgeLastRuns(nights, await connectionsAtWork(db), ward.now())
    },
  },
]
