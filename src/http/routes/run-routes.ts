import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Database } from '../../db/database.ts'
import { runWarnings } from '../../db/nights/night-facts.ts'
import { newestOnLedger, newestRuns } from '../../db/runs/newest-runs.ts'
import { submissionReports } from '../../db/runs/report-rows.ts'
import { runProgress } from '../../db/runs/run-progress.ts'
import { parkedBehind, takenOver, waveSubmissions, wavesOf } from '../../db/runs/wave-reports.ts'
import { jobStandings } from '../../jobs/job-standings.ts'
import { forecastOf } from '../../jobs/run-forecast.ts'
import { findBody, readPayload } from '../../pipeline/push/sending/kept-body.ts'
import { Problem } from '../problem.ts'
import {
  cutAt,
  destinationName,
  document,
  FileAnswer,
  type HttpContext,
  limit,
  moment,
  more,
  Plain,
  type Route,
  route,
  wholeNumber,
} from '../route.ts'

const params = z.strictObject({ run: wholeNumber.describe('The number of the run.') })

const listedRun = z.object({
  run_id: z.number().int(),
  job: z.string(),
  trigger: z.string(),
  scheduled_for: moment,
  state: z.string(),
  step: z.string(),
  verdict: z.string().nullable(),
  failure: z.object({ code: z.string(), message: z.string(), step: z.string() }).nullable(),
  resumed: z.number().int(),
  held: z.boolean(),
  started_at: moment,
  finished_at: moment.nullable(),
  destination: destinationName,
  remarks: z.array(z.string()).describe('Why the run is not simply well.'),
})

const progress = listedRun.omit({ remarks: true, destination: true }).extend({
  rows_read: z.number().int(),
  rows_planned: z.number().int(),
  rows_settled: z.number().int(),
  requests: z.number().int(),
  requests_settled: z.number().int(),
  pages: z.number().int(),
  pages_loaded: z.number().int(),
  pages_failed: z.number().int(),
  ends_at: moment.nullable().describe('When it will end at this speed; null: nobody can tell, or it has ended.'),
  deadline: moment.nullable().describe('When it has to have ended.'),
})

/** @throws {Problem} 404 when there is no such run. */
async function runNamed(db: Database, runId: number) {
  const [run] = await newestRuns(db, 1, { before: runId + 1, reports: 'whole' })
  if (run?.run_id === runId) return run
  throw new Problem(404, 'run_unknown', `There is no run ${runId}; GET /v1/runs lists them.`)
}

export const runRoutes: readonly Route[] = [
  route({
    id: 'listJobs',
    method: 'GET',
    path: '/v1/jobs',
    summary: 'Every job: when it starts next, how its last run went, whether it is paused',
    access: 'read',
    answers: { 200: z.object({ jobs: z.array(document), oldest_unaccepted_since: moment.nullable() }) },
    handle: async ({ db, deps }) => await jobStandings(db, deps.config, deps.now()),
  }),
  route({
    id: 'listRuns',
    method: 'GET',
    path: '/v1/runs',
    summary: 'The newest runs and their verdicts, newest first',
    access: 'read',
    query: z.strictObject({
      limit,
      before: wholeNumber.optional().describe('Only runs with a smaller number: `next`.'),
    }),
    answers: { 200: z.object({ runs: z.array(listedRun), next: z.number().int().nullable() }) },
    handle: async ({ db }, { query }) => {
      const runs = await newestRuns(db, query.limit, { before: query.before })
      const listed = runs.map(({ report, ...run }) => ({
        ...run,
        remarks: (report as { remarks?: string[] } | null)?.remarks ?? [],
      }))
      return { runs: listed, next: runs.length < query.limit ? null : (runs.at(-1)?.run_id ?? null) }
    },
  }),
  route({
    id: 'getRun',
    method: 'GET',
    path: '/v1/runs/{run}',
    summary: 'A run with its report',
    access: 'read',
    params,
    answers: { 200: listedRun.omit({ remarks: true }).extend({ report: document.nullable() }) },
    handle: async ({ db }, { params: { run } }) => await runNamed(db, run),
  }),
  route({
    id: 'getRunProgress',
    method: 'GET',
    path: '/v1/runs/{run}/progress',
    summary: 'How far a run has come',
    access: 'read',
    params,
    answers: { 200: progress },
    handle: async ({ db, deps }, { params: { run } }) => {
      await runNamed(db, run)
      const { report: _, ...shown } = await runProgress(db, run)
      if (shown.state !== 'running') return { ...shown, ends_at: null, deadline: null }
      const { ends_at, deadline } = await forecastOf(db, deps, { ...shown, report: null }, deps.now())
      return { ...shown, ends_at, deadline }
    },
  }),
  route({
    id: 'followRun',
    method: 'GET',
    path: '/v1/runs/{run}/events',
    summary: 'How a run gets on, as server-sent events: `progress` whenever it has changed, `end` with the last',
    access: 'read',
    params,
    answers: { 200: 'text/event-stream' },
    handle: async (context, { params: { run } }) => {
      await runNamed(context.db, run)
      return new Plain('text/event-stream', followByEvents(context, run))
    },
  }),
  route({
    id: 'listSubmissions',
    method: 'GET',
    path: '/v1/runs/{run}/submissions',
    summary: 'The requests of a run, with what became of their rows',
    access: 'read',
    params,
    answers: { 200: z.object({ submissions: z.array(document) }) },
    handle: async ({ db }, { params: { run } }) => {
      await runNamed(db, run)
      return { submissions: await submissionReports(db, run) }
    },
  }),
  route({
    id: 'getSubmissionBody',
    method: 'GET',
    path: '/v1/submissions/{submission}/body',
    summary:
      'The body of a request, byte for byte as it was sent. It holds data of the partner, so reading is not enough',
    access: 'act',
    params: z.strictObject({ submission: wholeNumber.describe('The number of the request.') }),
    answers: { 200: 'application/json' },
    handle: async ({ db, deps }, { params: { submission } }) => {
      const { bytes } = await findBody(db, submission, deps.config.push.keepPayloadsDays)
      return new FileAnswer(
        {
          name: `submission-${submission}.json`,
          type: 'application/json',
          bytes,
        },
        // Never as it is stored: whether that is whole shows when it is decompressed.
        readPayload(db, submission),
      )
    },
  }),
  route({
    id: 'listWaves',
    method: 'GET',
    path: '/v1/runs/{run}/waves',
    summary:
      'Which request of a run released which; of the newest run for the destination in use also what is parked behind what',
    access: 'read',
    params,
    query: z.strictObject({
      limit: z.coerce.number().int().min(1).max(10_000).default(2_000).describe('How many requests at most.'),
    }),
    answers: {
      200: z.object({
        waves: z.array(document),
        parked: z.array(document).nullable(),
        taken_over: z
          .array(z.object({ run_id: z.number().int(), submissions: z.number().int() }))
          .describe('Later runs that took over requests which this one sent.'),
        more: z.boolean().describe('There are more requests than `limit`.'),
      }),
    },
    handle: async ({ db, deps }, { params: { run }, query }) => {
      await runNamed(db, run)
      const newest = await newestOnLedger(db)
      const parked = newest?.run_id === run ? await parkedBehind(db, requirementsOf(deps.config), query.limit) : null
      const submissions = await waveSubmissions(db, run, query.limit + 1)
      return {
        waves: wavesOf(submissions.slice(0, query.limit)),
        parked,
        taken_over: await takenOver(db, run),
        more: submissions.length > query.limit,
      }
    },
  }),
  route({
    id: 'listWarnings',
    method: 'GET',
    path: '/v1/runs/{run}/warnings',
    summary:
      'What a run warned of while it worked, newest first: requests, pages and streams that were not simply well',
    access: 'read',
    params,
    query: z.strictObject({ limit }),
    answers: {
      200: z.object({
        warnings: z.array(
          z.object({ at: moment.nullable(), event: z.string(), about: z.string(), words: z.string().nullable() }),
        ),
        more,
      }),
    },
    handle: async ({ db }, { params: { run }, query }) => {
      await runNamed(db, run)
      const { rows: warnings, more: others } = cutAt(await runWarnings(db, run, query.limit + 1), query.limit)
      return { warnings, more: others }
    },
  }),
]

/** Between two looks at the run; a comment goes out when nothing has changed for longer. Milliseconds. */
const lookEveryMs = 1_000
const sayNothingForMs = 15_000

/** Clients that follow runs at once: each costs a query a second. */
const maxFollowers = 20

const followers = new WeakMap<HttpContext, number>()

/**
 * Follows a run until it ends, the daemon does, or the client has gone. A client that comes again is told where the run
 * stands now, so nothing has to be repeated for it.
 * @throws {Problem} 503 when too many follow already.
 */
function followByEvents(context: HttpContext, runId: number): AsyncIterable<string> {
  const now = followers.get(context) ?? 0
  if (now >= maxFollowers) throw new Problem(503, 'too_many_followers', `${now} clients follow runs already.`)
  return events(context, runId)
}

async function* events(context: HttpContext, runId: number): AsyncGenerator<string> {
  // Counted from its first event on: what is never begun is never ended either.
  followers.set(context, (followers.get(context) ?? 0) + 1)
  try {
    let last = ''
    let saidAt = performance.now()
    while (!context.stopping.aborted) {
      const { report: _, ...progress } = await runProgress(context.db, runId)
      const data = JSON.stringify(progress)
      if (data !== last) {
        yield `event: progress\ndata: ${data}\n\n`
        last = data
        saidAt = performance.now()
      } else if (performance.now() - saidAt > sayNothingForMs) {
        yield ': nothing new\n\n'
        saidAt = performance.now()
      }
      if (progress.state !== 'running') {
        yield `event: end\ndata: ${data}\n\n`
        return
      }
      await delay(lookEveryMs, undefined, { signal: context.stopping }).catch(() => {})
    }
  } finally {
    followers.set(context, (followers.get(context) ?? 1) - 1)
  }
}
