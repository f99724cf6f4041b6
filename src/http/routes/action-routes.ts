import { z } from 'zod'
import { night } from '../../config/known-names.ts'
import type { Database } from '../../db/database.ts'
import { approvePlans, plansOf } from '../../db/guard/guard-plan.ts'
import { countRetryable } from '../../db/ledger/rows-to-retry.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import { given } from '../../given.ts'
import { pauseJob, resumeJob } from '../../jobs/job-standings.ts'
import { findJob, triggerJob } from '../../jobs/trigger-run.ts'
import { abandonSubmission } from '../../pipeline/actions/abandon-submission.ts'
import { acceptRemovalsOf, retryRejected } from '../../pipeline/actions/act-on-rows.ts'
import { adoptTask } from '../../pipeline/actions/adopt-task.ts'
import { cancelTask } from '../../pipeline/actions/cancel-task.ts'
import { countAcceptable } from '../../pipeline/pull/removals/take-removals.ts'
import { carriedStreams } from '../../pipeline/streams/our-streams.ts'
import { requireKnownHotel } from '../known-hotel.ts'
import { Problem } from '../problem.ts'
import { Answer, document, type Route, route, wholeNumber } from '../route.ts'
import { filterFields, rowFilter } from './ledger-routes.ts'

const job = z.strictObject({ job: z.string().min(1).max(200) })
const submission = z.strictObject({ submission: wholeNumber.describe('The number of the request.') })
export const dryRun = z.boolean().default(false).describe('Say what would be done, and do nothing.')

/** Of marked rows. */
export const ofSuspended = z
  .number()
  .int()
  .describe('Of the rows: those of suspended hotels, which wait until these are resumed.')

/** @throws {Problem} 409 while a run is under way, which would be wrong about what the action changes. */
export async function refuseWhileRunning(db: Database): Promise<void> {
  const running = await runInTheWay(db, night)
  if (running === undefined) return
  throw new Problem(409, 'run_under_way', `Run ${running.run_id} is under way; ask again when it has ended.`)
}

/** @throws {Problem} 400 when nothing narrows the action down and nobody said that everything is meant. */
export function refuseAll(filter: object, all: boolean, dry: boolean): void {
  if (all || dry || Object.keys(filter).length > 0) return
  throw new Problem(400, 'request_malformed', 'Say which: give a filter, or "all": true.')
}

export const actionRoutes: readonly Route[] = [
  route({
    id: 'triggerJob',
    method: 'POST',
    path: '/v1/jobs/{job}/runs',
    summary: 'Start a job, or join the run of it that is under way',
    access: 'act',
    params: job,
    body: z.strictObject({
      only: z.array(z.string().min(1)).min(1).optional().describe('Only these steps.'),
      streams: z.array(z.string().min(1)).min(1).optional().describe('Read and send only these streams.'),
      since: z.string().min(1).max(100).optional().describe('Read rows again from this cursor or time on.'),
    }),
    answers: {
      202: z.object({
        run: z.number().int(),
        joined: z.boolean(),
        older_watermarks: z
          .array(z.object({ stream: z.string(), watermark: z.string() }))
          .describe('Streams that are read from before `since` on, because they were not read further yet.'),
      }),
    },
    handle: async ({ deps }, { params, body: { only, streams, since }, actor }) => {
      const what = {
        trigger: 'http' as const,
        by: actor.user,
        ...(only !== undefined && { only }),
        ...(streams !== undefined && { streams }),
        ...(since !== undefined && { since }),
      }
      const { run, joined, olderWatermarks } = await triggerJob(deps, params.job, what)
      return new Answer(202, { run: run.run_id, joined, older_watermarks: olderWatermarks })
    },
  }),
  route({
    id: 'pauseJob',
    method: 'POST',
    path: '/v1/jobs/{job}/pause',
    summary: 'Let nothing start a job until it is resumed; a run that is under way goes on',
    access: 'act',
    params: job,
    body: z.strictObject({ reason: z.string().min(1).max(1_000).optional() }),
    answers: { 200: z.object({ paused: z.boolean() }) },
    handle: async ({ deps }, { params, body, actor }) => {
      const { name } = findJob(deps, params.job)
      await pauseJob(deps.db, name, { actor, at: deps.now(), reason: body.reason ?? null })
      return { paused: true }
    },
  }),
  route({
    id: 'resumeJob',
    method: 'POST',
    path: '/v1/jobs/{job}/resume',
    summary: 'Let a paused job start again',
    access: 'act',
    params: job,
    answers: { 200: z.object({ paused: z.boolean() }) },
    handle: async ({ deps }, { params, actor }) => {
      await resumeJob(deps.db, findJob(deps, params.job).name, { actor, at: deps.now() })
      return { paused: false }
    },
  }),
  route({
    id: 'approveRun',
    method: 'POST',
    path: '/v1/runs/{run}/approve',
    summary: 'Let through what the guard stopped a run over',
    access: 'act',
    params: z.strictObject({ run: wholeNumber }),
    body: z.strictObject({ dryRun }),
    answers: { 200: z.object({ plans: z.array(document) }) },
    handle: async ({ deps }, { params: { run }, body, actor }) => {
      const waiting = (await plansOf(deps.db, run)).filter(({ state }) => state === 'waiting')
      if (waiting.length === 0) {
        throw new Problem(409, 'nothing_to_approve', `Nothing of run ${run} waits for approval.`)
      }
      if (body.dryRun) return { plans: waiting }
      await refuseWhileRunning(deps.db)
      const approved = await deps.db.transaction().execute((trx) => approvePlans(trx, run, actor, deps.now()))
      return { plans: approved }
    },
  }),
  route({
    id: 'retryRows',
    method: 'POST',
    path: '/v1/rows/retry',
    summary: 'Have the next run send rows again that the service rejected, once',
    access: 'act',
    body: z.strictObject({ ...filterFields, all: z.boolean().default(false), dryRun }),
    answers: {
      200: z.object({
        streams: z.array(z.object({ stream: z.string(), rows: z.number().int(), suspended: ofSuspended })),
      }),
    },
    handle: async ({ deps }, { body, actor }) => {
      const filter = rowFilter(deps.config, body)
      refuseAll(filter, body.all, false)
      const carried = carriedStreams(deps.contract, deps.config)
      const streams = body.dryRun
        ? await countRetryable(deps.db, carried, filter)
        : await retryRejected(deps, carried, filter, actor)
      if (streams.length === 0) await requireKnownHotel(deps.db, body.partnerId)
      return { streams }
    },
  }),
  route({
    id: 'abandonSubmission',
    method: 'POST',
    path: '/v1/submissions/{submission}/abandon',
    summary: 'Give a request up that waits for ever; its rows go out again with the next run',
    access: 'act',
    params: submission,
    answers: { 200: document },
    handle: async ({ deps }, { params, actor }) => await abandonSubmission(deps, params.submission, actor),
  }),
  route({
    id: 'adoptTask',
    method: 'POST',
    path: '/v1/submissions/{submission}/adopt',
    summary: 'Say which task an uncertain request became',
    access: 'act',
    params: submission,
    body: z.strictObject({ correlationId: z.guid() }),
    answers: { 200: document },
    handle: async ({ deps }, { params, body, actor }) =>
      await adoptTask(deps, params.submission, body.correlationId, actor),
  }),
  route({
    id: 'cancelTask',
    method: 'POST',
    path: '/v1/submissions/{submission}/cancel',
    summary: 'Ask the service to cancel the task of a request',
    access: 'act',
    params: submission,
    answers: { 200: document },
    handle: async ({ deps }, { params, actor }) => await cancelTask(deps, params.submission, actor),
  }),
  route({
    id: 'acceptRemovals',
    method: 'POST',
    path: '/v1/removals/accept',
    summary: 'Remove what searches have shown as absent and is withheld',
    access: 'act',
    body: z.strictObject({
      reason: filterFields.reason,
      partnerId: filterFields.partnerId,
      run: z.number().int().min(1).optional(),
      all: z.boolean().default(false),
      dryRun,
    }),
    answers: { 200: z.object({ meant: z.array(document), accepted: document.nullable() }) },
    handle: async ({ deps }, { body, actor }) => {
      const { reason, partnerId, run, all } = body
      const filter = given({ reason, partnerId, runId: run })
      refuseAll(filter, all, body.dryRun)
      const meant = await countAcceptable(deps.db, filter)
      if (meant.length === 0) await requireKnownHotel(deps.db, partnerId)
      if (body.dryRun) return { meant, accepted: null }
      return { meant, accepted: await acceptRemovalsOf(deps, filter, actor, refuseWhileRunning) }
    },
  }),
]
