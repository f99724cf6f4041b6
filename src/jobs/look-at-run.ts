import { hostname } from 'node:os'
import { storableText } from '../db/copy-text.ts'
import { withRunLock } from '../db/locks/advisory-lock.ts'
import { failRun } from '../db/runs/run-life.ts'
import { noteStep } from '../db/runs/run-progress.ts'
import type { Run } from '../db/tables/run-tables.ts'
import type { Submission } from '../db/tables/submission-tables.ts'
import { type Deps, StopRun } from '../pipeline/deps.ts'
import { checkDestination } from '../pipeline/destination/check-destination.ts'
import { keyFingerprint } from '../pipeline/gate/shared-gate.ts'
import { searchKinds } from '../pipeline/streams/kind-names.ts'
import { type Job, stepsOf } from './job.ts'

/**
 * Takes a run as far as it can go: from the step at which it stands until one has to wait. Where it stands is
 * committed after each step, so anyone who looks next begins there.
 * @returns whether it has ended with this look.
 */
export async function lookAtRun(deps: Deps, job: Job, runId: number): Promise<boolean> {
  let ended = false
  await withRunLock(deps.pool, runId, async () => {
    for (;;) {
      const run = await deps.db.selectFrom('run').selectAll().where('run_id', '=', runId).executeTakeFirst()
      if (run === undefined || run.state !== 'running') return
      const steps = stepsOf(job, run.asked)
      const index = steps.findIndex(({ name }) => name === run.step)
      const step = steps[index]
      if (step === undefined) {
        throw new StopRun(
          'step_unknown',
          `Run ${runId} stands at the step ${run.step}, which this version does not know`,
        )
      }
      await checkDestination(deps)
      if ((await step.run(deps, run)) === 'waiting') return
      const next = steps[index + 1]
      if (next === undefined) {
        ended = true
        return
      }
      await deps.db.transaction().execute(async (trx) => {
        await noteStep(trx, runId, run.step)
        await trx
          .updateTable('run')
          .set({ step: next.name })
          .where('run_id', '=', runId)
          .where('step', '=', run.step)
          .execute()
      })
      deps.logger.info({ run_id: runId, step: run.step, next: next.name }, 'step_done')
    }
  })
  return ended
}

/**
 * Ends a run over an error that trying again will not fix, and says so. The code and the message are what a person
 * reads in the morning.
 * @param over the submission whose look failed, or whose page.
 * @returns false if it had ended already.
 */
export async function stopRun(
  deps: Deps,
  run: Pick<Run, 'run_id' | 'step'>,
  error: unknown,
  over?: Parameters<typeof stoppedOver>[1],
): Promise<boolean> {
  const { code: given, message } = error as { code?: unknown; message?: string }
  const code = typeof given === 'string' ? given : 'internal_error'
  const said = message ?? String(error)
  const help = over === undefined ? null : stoppedOver(code, over)
  const more = ofProcess(code, deps) ?? help
  const failure = {
    code,
    message: storableText(more === null ? said : `${said.replace(/\.?$/, '.')} ${more}`),
    step: run.step,
  }
  const ended = await failRun(deps.db, run.run_id, failure, deps.now())
  deps.logger.error({ run_id: run.run_id, ...failure }, 'run_failed')
  return ended
}

/** Of several processes each may have another key, or lack what others have: which one it was; null: all are alike. */
function ofProcess(code: string, { required }: Deps): string | null {
  if (code === 'partner_driver_missing' || code === 'config_invalid') return `The process on ${hostname()} lacks it`
  if (code !== 'exchange_unauthorized') return null
  const fingerprint = keyFingerprint(required.apiKey, required.baseUrl)
  return `The process on ${hostname()} has the refused key (fingerprint ${fingerprint})`
}

/** Codes that concern no submission more than another, and those whose own words name the submission and the verbs. */
const saidAlready = new Set(['exchange_unauthorized', 'task_list_too_short', 'kind_unknown'])

/**
 * The submission that a run stopped over, and the verb that helps with it, as a sentence or two; null: none would.
 * Searches, and requests of which nothing has left, are given up by the next run (`adoptUnfinished`). Pure.
 */
export function stoppedOver(
  code: string,
  submission: Pick<Submission, 'submission_id' | 'kind' | 'state' | 'correlation_id' | 'uncertain_since'>,
): string | null {
  if (saidAlready.has(code)) return null
  const { submission_id: id, kind, state, correlation_id, uncertain_since } = submission
  const over = `It stopped over submission ${id} (${kind}${correlation_id === null ? '' : `, task ${correlation_id}`})`
  if (searchKinds.includes(kind)) return `${over}: the next run searches again`
  switch (state) {
    case 'planned':
      return uncertain_since === null
        ? `${over}, of which nothing was sent: nightferry run nightly-sync plans its rows again under another number`
        : `${over}, whose answer was lost: nightferry run nightly-sync sends it again, nightferry abandon ${id} gives it up`
    case 'sending':
    case 'uncertain':
      return `${over}, whose answer was lost: nightferry run nightly-sync looks again; nightferry adopt ${id} <correlation id> says which task it is, nightferry abandon ${id} that there is none`
    case 'accepted':
    case 'terminal':
      return `${over}: nightferry run nightly-sync goes on with it, nightferry abandon ${id} gives it up`
    case 'settled':
    case 'refused':
    case 'lost':
    case 'abandoned':
      return `${over}: nightferry run nightly-sync goes on`
    default:
      return state satisfies never
  }
}
