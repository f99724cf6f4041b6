import { streamNames } from '../../src/config/known-names.ts'
import { recordAction } from '../../src/db/actions/record-action.ts'
import { approvePlans } from '../../src/db/guard/guard-plan.ts'
import { markForResend } from '../../src/db/ledger/rows-again.ts'
import type { Job } from '../../src/jobs/job.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { lookAtRun, stopRun } from '../../src/jobs/look-at-run.ts'
import { triggerRun } from '../../src/jobs/trigger-run.ts'
import { abandonSubmission } from '../../src/pipeline/actions/abandon-submission.ts'
import { rereadStream, retryRejected } from '../../src/pipeline/actions/act-on-rows.ts'
import { adoptTask } from '../../src/pipeline/actions/adopt-task.ts'
import { cancelTask } from '../../src/pipeline/actions/cancel-task.ts'
import { type Deps, StopRun } from '../../src/pipeline/deps.ts'
import { lookAtPage } from '../../src/pipeline/pull/look-at-page.ts'
import { lookAtSubmission } from '../../src/pipeline/push/look-at-submission.ts'
import { type Fate, startLife } from './life.ts'
import { type Look, openLooks, returnLook, takeLook } from './looks.ts'
import type { Which } from './steps.ts'
import type { ModelWorld, Night } from './world.ts'

/** After so many failures the queue hands a look out no more and the run fails, as the engine's does. */
const failuresBeforeEnd = 8
const heartbeatMs = 30_000

/** Codes that end a run at once; those that another attempt fixes are tried again. */
const finalCodes = new Set([
  'exchange_unauthorized',
  'exchange_forbidden',
  'exchange_not_found',
  'exchange_refused',
  'exchange_answer_malformed',
  'partner_query_failed',
  'partner_query_too_slow',
])

/** Nightferry as a process that can die at any call, with the queue's choices made by the test. */
export type Daemon = {
  trigger(): Promise<{ runId: number; resumed: boolean } | null>
  looks(): Promise<Look[]>
  due(): Promise<Look[]>
  /** Makes looks, all at the same time. `keep`: they stay in the queue, so they come again. */
  look(looks: readonly Look[], keep?: boolean): Promise<void>
  /** Makes so many looks in the order in which they fall due; time passes when none is. */
  work(looks: number): Promise<number>
  breakAt(fate: Fate, gone: boolean): void
  /** Ends the run under way as an error that is final does. */
  fail(): Promise<void>
  fix(): void
  /** How often the process died. */
  deaths(): number
  retry(): Promise<void>
  approve(): Promise<void>
  abandon(submissionId: number): Promise<void>
  cancel(submissionId: number): Promise<void>
  adopt(submissionId: number, correlationId: string): Promise<void>
  /** The verb that follows a restore: all rows are sent again, or all of the partner's are read again. */
  repair(restored: ReadonlySet<Which>): Promise<void>
}

/**
 * The real job; a night that brings nothing back is much shorter, and none of the invariants is about what it brings.
 */
function jobOf({ pull }: Night): Job {
  if (pull) return nightlySync
  const [first, ...rest] = nightlySync.steps
  return { ...nightlySync, steps: [first, ...rest.filter(({ name }) => name !== 'pull' && name !== 'reconcile')] }
}

const actor = { user: 'model', host: 'model' }

export function openDaemon(world: ModelWorld, night: Night): Daemon {
  const { own, clock } = world
  const job = jobOf(night)
  let fate: Fate | null = null
  let workGone = false
  let deaths = 0
  let triggers = 0

  /** Lets a process do something. False: it died of it, and another one begins. */
  const live = async (work: (deps: Deps) => Promise<unknown>): Promise<boolean> => {
    const life = startLife(fate)
    const done = await Promise.race([
      work(world.deps(life, night)).then(() => true),
      life.death.then(() => false),
    ]).finally(() => {
      if (fate === null) return
      fate = life.calls() >= fate.at ? null : { ...fate, at: fate.at - life.calls() }
    })
    if (!done) {
      deaths += 1
      await life.silence()
      await world.bury()
    }
    return done
  }

  const later = (ms: number) => new Date(clock.now() + ms)

  const once = async (deps: Deps, look: Look): Promise<void> => {
    try {
      const done = await make(deps, job, look)
      if (!done) await returnLook(own, look, later(1_000))
    } catch (error) {
      const { code } = error as { code?: unknown }
      const final =
        error instanceof StopRun ||
        (typeof code === 'string' && finalCodes.has(code)) ||
        look.failures >= failuresBeforeEnd
      if (!final) {
        await returnLook(own, look, later(Math.min(1_000 * 2 ** look.failures, 60_000)))
        return
      }
      const run = await runBehind(look)
      if (run !== undefined) await stopRun(deps, run, error)
    }
  }

  const runBehind = async ({ kind, id }: Look) => {
    const { rows } = await own.query<{ run_id: number; step: string }>(
      `select run_id, step from run
       where run_id = case $1::text
         when 'run' then $2::bigint
         when 'submission' then (select run_id from submission where submission_id = $2)
         else (select run_id from submission join search_page using (submission_id) where page_id = $2) end`,
      [kind, id],
    )
    return rows[0]
  }

  const due = async () => (await openLooks(own)).filter((look) => look.due.getTime() <= clock.now())

  const look: Daemon['look'] = async (looks, keep = false) => {
    const lived = await live((deps) =>
      Promise.all(
        looks.map(async (one) => {
          if (!keep) await takeLook(own, one)
          await once(deps, one)
        }),
      ),
    )
    if (lived || workGone) return
    // Its heartbeat stops, and what it worked on is handed out again.
    for (const one of looks) await returnLook(own, one, later(heartbeatMs))
  }

  return {
    trigger: async () => {
      // No two occurrences of a schedule are at one moment, also where no time passes between them.
      triggers += 1
      let triggered: { runId: number; resumed: boolean } | null = null
      await live(async (deps) => {
        const started = await triggerRun(deps, job, 'schedule', later(triggers)).catch(refused)
        if (started !== null) triggered = { runId: started.run.run_id, resumed: started.resumed }
      })
      return triggered
    },
    looks: () => openLooks(own),
    due,
    look,
    work: async (wanted) => {
      let made = 0
      for (; made < wanted; made += 1) {
        const [first] = await openLooks(own)
        if (first === undefined) break
        const waitMs = first.due.getTime() - clock.now()
        if (waitMs > 0) await world.pass(waitMs)
        await look([first])
      }
      return made
    },
    breakAt: (next, gone) => {
      fate = next
      workGone = gone
    },
    fail: async () => {
      const { rows } = await own.query<{ run_id: number; step: string }>(
        "select run_id, step from run where state = 'running'",
      )
      const error = Object.assign(new Error('the model ends the run'), { code: 'internal_error' })
      for (const run of rows) await live((deps) => stopRun(deps, run, error))
    },
    fix: () => {
      fate = null
    },
    deaths: () => deaths,
    retry: async () => {
      await live((deps) => retryRejected(deps, streamNames, {}, actor).catch(refused))
    },
    approve: async () => {
      const { rows } = await own.query<{ run_id: number }>(
        `select distinct run_id from guard_plan
         where state = 'waiting' and not exists (select from run where state = 'running')`,
      )
      for (const { run_id } of rows) {
        await live((deps) =>
          deps.db
            .transaction()
            .execute((trx) => approvePlans(trx, run_id, actor, deps.now()))
            .catch(refused),
        )
      }
    },
    abandon: async (id) => {
      await live((deps) => abandonSubmission(deps, id, actor).catch(refused))
    },
    cancel: async (id) => {
      await live((deps) => cancelTask(deps, id, actor).catch(refused))
    },
    adopt: async (id, correlationId) => {
      await live((deps) => adoptTask(deps, id, correlationId, actor).catch(refused))
    },
    repair: async (restored) => {
      await live(async (deps) => {
        if (restored.has('partner')) {
          for (const stream of night.streams) {
            await rereadStream(deps.db, { stream, since: null, now: deps.now(), actor })
          }
        }
        if (!restored.has('own') && !restored.has('service')) return
        await deps.db.transaction().execute(async (trx) => {
          const action = { verb: 'resend', actor, at: deps.now(), rows: 0, asked: { all: 'true' } } as const
          await markForResend(trx, await recordAction(trx, action), streamNames, {})
        })
      })
    },
  }
}

/**
 * What a person is told: nothing was changed, or the service did not answer. A mistake of the program is not among it.
 */
function refused(error: unknown): null {
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') return null
  throw error
}

async function make(deps: Deps, job: Job, { kind, id, timer }: Look): Promise<boolean> {
  switch (kind) {
    case 'run':
      await lookAtRun(deps, job, id)
      return true
    case 'submission':
      return await lookAtSubmission(deps, id, timer ?? undefined)
    case 'page':
      return await lookAtPage(deps, id)
    default:
      return kind satisfies never
  }
}
