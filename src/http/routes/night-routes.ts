import { sql } from 'kysely'
import { z } from 'zod'
import { carryingJobs, night } from '../../config/known-names.ts'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Database } from '../../db/database.ts'
import { waitingPlans } from '../../db/guard/guard-plan.ts'
import type { Requires } from '../../db/ledger/requirements.ts'
import { causesOfRows, type ListedState } from '../../db/ledger/rows-in-state.ts'
import { isSuspended } from '../../db/ledger/suspended-hotels.ts'
import { durationsOf, listNights, needsOf, newestTasks, streamsOfRun } from '../../db/nights/night-facts.ts'
import { newestRuns } from '../../db/runs/newest-runs.ts'
import { requestTroubles } from '../../db/runs/request-troubles.ts'
import { pageProgress, runProgress } from '../../db/runs/run-progress.ts'
import { deniedKeyInUse } from '../../db/service-key/service-key.ts'
import { jobStandings } from '../../jobs/job-standings.ts'
import { shownZone } from '../../jobs/known-jobs.ts'
import { forecastOf } from '../../jobs/run-forecast.ts'
import {
  judgeFreshness,
  medianOf,
  momentWords,
  newestCarried,
  newestOfJobs,
  nightSentence,
  runToTell,
} from '../../pipeline/report/standing.ts'
import { troubleShownAfterMs, troubleWords } from '../../pipeline/report/trouble-words.ts'
import { searchKind } from '../../pipeline/streams/kind-names.ts'
import { cacheOf } from '../answer-cache.ts'
import { countBacklog } from '../count-backlog.ts'
import { Problem } from '../problem.ts'
import { count, cutAt, destinationName, limit, moment, type Route, route, wholeNumber } from '../route.ts'

/** Nights by which the length of the next one is guessed. */
const forecastNights = 14
/** Causes of each state that a glance shows. */
const causesShown = 5

const nightAnswer = z.object({
  run_id: count,
  job: z.string(),
  trigger: z.string(),
  state: z.string(),
  step: z.string(),
  verdict: z.string().nullable(),
  failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  started_at: moment,
  finished_at: moment.nullable(),
  duration_ms: z.number().nullable(),
  read: count.nullable(),
  sent: count.nullable(),
  accepted: count.nullable(),
  rejected: count.nullable(),
  invalid: count.nullable(),
  parked: count.nullable(),
  remarks: count.nullable(),
  destination: destinationName,
})

const cause = z.object({
  state: z.string(),
  stream: z.string(),
  code: z.string().nullable(),
  reason: z.string().nullable(),
  rows: count,
  hotels: count,
  first_at: moment,
  last_at: moment,
})

const tonight = z.object({
  now: moment,
  time_zone: z.string().describe('The time zone in which the sentence and the console say the time.'),
  tone: z.enum(['none', 'running', 'well', 'needs', 'failed']),
  sentence: z.string().describe('How the night stands, in one sentence.'),
  fresh: z.boolean(),
  fresh_since: moment.nullable(),
  fresh_words: z.string(),
  fresh_within_ms: z.number(),
  run: nightAnswer.nullable(),
  troubles: z
    .array(z.string())
    .describe('What requests of runs under way wait for at the service, until when, and what comes then.'),
  remarks: z.array(z.string()),
  notices: z.array(z.string()),
  held: z
    .array(
      z.object({
        run_id: count,
        stream: z.string(),
        reason: z.string(),
        known: count,
        new: count,
        changed: count,
        gone: count,
      }),
    )
    .describe('What the guard stopped runs over, of whichever job, and nobody has approved.'),
  needs: z.array(z.object({ state: z.string(), rows: count, hotels: count })),
  causes: z.array(cause),
  more_causes: z.boolean().describe('Some state has more causes than are given.'),
  needs_as_of: moment.describe('When the rows were counted; in a large ledger some seconds ago.'),
  key_refused: z.object({ since: moment, code: z.string().nullable(), reason: z.string().nullable() }).nullable(),
  next: moment.nullable().describe('When a schedule starts the next run that carries data; null: none does.'),
  schedule: z.string().nullable(),
  paused: z.looseObject({ paused_by: z.string(), reason: z.string().nullable() }).nullable(),
  typical_ms: z.number().nullable().describe('How long half of the newest runs of its job took at most.'),
  ends: moment.nullable().describe('When the run under way, or the next one, would then end.'),
})

const listedStates: readonly ListedState[] = ['rejected', 'invalid', 'parked', 'unknown']

/** What needs a person, by state and by cause. */
async function needsWithCauses(db: Database, requires: Requires) {
  const needs = await needsOf(db, requires)
  const causes = []
  let moreCauses = false
  for (const state of listedStates.filter((one) => needs.some((need) => need.state === one))) {
    const needing = state === 'parked' ? sql<boolean>`not ${isSuspended()}` : sql<boolean>`true`
    const found = cutAt(await causesOfRows(db, state, { requires, limit: causesShown + 1, also: needing }), causesShown)
    causes.push(...found.rows.map((one) => ({ state, ...one })))
    moreCauses ||= found.more
  }
  return { needs, causes, moreCauses }
}

/**
 * The run that tells how the night stands, with its report. `elsewhere`: there is none, but another destination had
 * some.
 */
async function lastRun(db: Database, carrying: readonly string[]) {
  const told = runToTell(await newestOfJobs(db, carrying))
  if (told === undefined) {
    const others = await newestRuns(db, 1, { job: [...carrying, night], whole: true })
    return { run: null, report: null, elsewhere: others.length > 0 }
  }
  const [run = null] = await listNights(db, [told.job], 1, { before: told.run_id + 1 })
  return { run, report: told.report, elsewhere: false }
}

/** The job that its schedule starts first; the paused ones start nothing. */
function nextOf<T extends { next: Date | null; paused: object | null }>(jobs: readonly T[]): T | undefined {
  const awake = jobs.filter(({ paused }) => paused === null)
  const soonest = awake.toSorted((one, other) => Number(one.next ?? Infinity) - Number(other.next ?? Infinity))
  return soonest[0] ?? jobs[0]
}

export const nightRoutes: readonly Route[] = [
  route({
    id: 'getTonight',
    method: 'GET',
    path: '/v1/tonight',
    summary: 'How the night stands, in one sentence, with what needs a person, and when the next one runs',
    access: 'read',
    answers: { 200: tonight },
    handle: async (context) => {
      const { db, deps } = context
      const now = deps.now()
      const { config } = deps
      const requires = requirementsOf(config)
      const carrying = carryingJobs(config)
      const { run, report, elsewhere } = await lastRun(db, carrying)
      const carried = await newestCarried(db, carrying)
      const freshness = judgeFreshness(carried, now, config.http.freshWithinMs)
      // A run that ends changes both at once.
      const key = `needs ${run?.run_id} ${run?.state}`
      const { answer, asOf } = await cacheOf(context).often(key, now, (begin) =>
        countBacklog(db, (own) => needsWithCauses(own, requires), begin),
      )
      const { needs, causes, moreCauses } = answer
      const held = await waitingPlans(db, requires)
      const { jobs } = await jobStandings(db, config, now)
      const job = nextOf(jobs.filter((one) => carrying.includes(one.job)))
      const timeZone = shownZone(config)
      const { remarks = [], notices = [] } = (report ?? {}) as { remarks?: string[]; notices?: string[] }
      const refused = await deniedKeyInUse(db)
      const troubles = await requestTroubles(db, now, troubleShownAfterMs)
      const typical = medianOf(await durationsOf(db, run?.job ?? night, forecastNights))
      const isRunning = run?.state === 'running'
      const begins = isRunning ? run.started_at : (job?.next ?? null)
      const takes = isRunning ? typical : medianOf(await durationsOf(db, job?.job ?? night, forecastNights))
      return {
        now,
        time_zone: timeZone,
        ...nightSentence({ run, elsewhere, needs, held, remarks: remarks.length, jobs: carrying }, now, timeZone),
        fresh: freshness.fresh,
        fresh_since: freshness.since,
        fresh_words: freshness.why,
        fresh_within_ms: config.http.freshWithinMs,
        run,
        troubles: troubles.map((one) =>
          troubleWords(one, config.exchange.giveUpAfterMs, (moment) => momentWords(moment, now, timeZone)),
        ),
        remarks,
        notices,
        held,
        needs,
        causes,
        more_causes: moreCauses,
        needs_as_of: asOf,
        key_refused:
          refused === null ? null : { since: refused.since, code: refused.errorCode, reason: refused.serviceMessage },
        next: job?.next ?? null,
        schedule: job?.schedule ?? null,
        paused: job?.paused ?? null,
        typical_ms: typical,
        ends: begins === null || takes === null ? null : new Date(begins.getTime() + takes),
      }
    },
  }),
  route({
    id: 'listNights',
    method: 'GET',
    path: '/v1/nights',
    summary: 'The newest nights with their verdict, how long they took and the sums of their report',
    access: 'read',
    query: z.strictObject({
      limit,
      before: wholeNumber.optional().describe('Only runs with a smaller number: `next`.'),
    }),
    answers: { 200: z.object({ nights: z.array(nightAnswer), next: count.nullable() }) },
    handle: async ({ db, deps }, { query }) => {
      const jobs = [...new Set([...carryingJobs(deps.config), night])]
      const nights = await listNights(db, jobs, query.limit, { before: query.before ?? null })
      return { nights, next: nights.length < query.limit ? null : (nights.at(-1)?.run_id ?? null) }
    },
  }),
  route({
    id: 'getRunLive',
    method: 'GET',
    path: '/v1/runs/{run}/live',
    summary: 'How far a run has come, stream by stream and request by request, with pages and bytes',
    access: 'read',
    params: z.strictObject({ run: wholeNumber }),
    query: z.strictObject({ limit }),
    answers: {
      200: z.object({
        state: z.string(),
        step: z.string(),
        rows_read: count,
        rows_planned: count,
        rows_settled: count,
        requests: count,
        requests_settled: count,
        pages: count,
        pages_loaded: count,
        pages_failed: count,
        bytes: count,
        ends_at: moment.nullable().describe('When it will end at this speed; null: nobody can tell, or it has ended.'),
        deadline: moment.nullable().describe('When it has to have ended.'),
        streams: z.array(
          z.object({
            stream: z.string(),
            read: count,
            changed: count,
            pending: count.nullable(),
            extracted_at: moment,
          }),
        ),
        submissions: z.array(
          z.looseObject({
            submission_id: count,
            kind: z.string(),
            state: z.string(),
            task_status: z.string().nullable(),
            rows: count,
          }),
        ),
        more: z
          .object({ streams: z.boolean(), submissions: z.boolean() })
          .describe('Of which of these there are more than `limit`.'),
      }),
    },
    handle: async ({ db, deps }, { params: { run }, query }) => {
      const [found] = await newestRuns(db, 1, { before: run + 1 })
      if (found?.run_id !== run)
        throw new Problem(404, 'run_unknown', `There is no run ${run}; GET /v1/runs lists them.`)
      const { report: _, ...progress } = await runProgress(db, run)
      const pages = await pageProgress(db, run, searchKind)
      const forecast =
        found.state === 'running' ? await forecastOf(db, deps, { ...found, report: null }, deps.now()) : null
      const streams = cutAt(await streamsOfRun(db, run, query.limit + 1), query.limit)
      // What became of their rows is counted in the report: this is asked for every second.
      const submissions = cutAt(await newestTasks(db, query.limit + 1, run), query.limit)
      return {
        ...progress,
        bytes: pages?.bytes ?? 0,
        ends_at: forecast?.ends_at ?? null,
        deadline: forecast?.deadline ?? null,
        streams: streams.rows,
        submissions: submissions.rows,
        more: { streams: streams.more, submissions: submissions.more },
      }
    },
  }),
]
