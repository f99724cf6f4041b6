import { z } from 'zod'
import { night } from '../../config/known-names.ts'
import type { ResendFilter } from '../../db/ledger/rows-again.ts'
import { runInTheWay } from '../../db/runs/run-life.ts'
import { given } from '../../given.ts'
import { bringBack, rereadStream, resendAccepted } from '../../pipeline/actions/act-on-rows.ts'
import { countRestorable, pageOfRemovals, type RestoreFilter } from '../../pipeline/pull/removals/restore-removed.ts'
import { carriedStreams } from '../../pipeline/streams/our-streams.ts'
import { requireKnownHotel } from '../known-hotel.ts'
import { knownStream, Problem } from '../problem.ts'
import { document, limit, moment, placeOf, type Route, route, wholeNumber } from '../route.ts'
import { dryRun, ofSuspended, refuseAll, refuseWhileRunning } from './action-routes.ts'
import { filterFields } from './ledger-routes.ts'

const run = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const all = z.boolean().default(false).describe('Everything, where no filter is given.')

const place = z.strictObject({
  at: z.string().regex(/^\d{4,6}-\d\d-\d\d [\d:.+-]+$/),
  part: z.enum(['value', 'property']),
  removalId: z.number().int().min(0),
})

function removalFilter(query: {
  partnerId?: string | undefined
  run?: number | undefined
  since?: string | undefined
}) {
  const { partnerId, run: runId, since } = query
  const filter: RestoreFilter = given({ partnerId, runId, since: since === undefined ? undefined : new Date(since) })
  return filter
}

/** What a person has done again: rows sent or read once more, and what was removed brought back. */
export const againRoutes: readonly Route[] = [
  route({
    id: 'resendRows',
    method: 'POST',
    path: '/v1/rows/resend',
    summary: 'Have the next run send rows again that the service accepted, once',
    access: 'act',
    body: z.strictObject({
      stream: filterFields.stream,
      partnerId: filterFields.partnerId,
      submission: run.optional().describe('Only rows that a request carried.'),
      since: z.iso.datetime({ offset: true }).optional().describe('Only rows accepted since this moment.'),
      difference: z
        .enum(['absent', 'different', 'any'])
        .optional()
        .describe('Only rows that the last comparison found so.'),
      alsoLater: z
        .boolean()
        .default(false)
        .describe('With `difference`: also rows that the service changed after they were sent.'),
      all,
      beyondGuard: z.boolean().default(false).describe('Also if it is more than the guard lets through.'),
      dryRun,
    }),
    answers: {
      200: z.object({
        total: z.number().int(),
        streams: z.array(
          z.object({
            stream: z.string(),
            rows: z.number().int(),
            suspended: ofSuspended,
            changed: z.number().int(),
            known: z.number().int(),
          }),
        ),
        rows: z.array(document).describe('Some of them.'),
        changed: z
          .number()
          .int()
          .describe('Of them: rows that changed since they were accepted, or that the guard holds.'),
        beyond_guard: z.array(z.string()).describe('Streams of which this is more than the guard lets through.'),
        later: z
          .number()
          .int()
          .describe('Rows with that difference that stay as they are, unless `alsoLater` is true.'),
        unjudged: z
          .number()
          .int()
          .describe('Rows that were found so before and stay as they are: the newest comparison did not judge them.'),
        mixed: z
          .number()
          .int()
          .describe('Calculators with absent inputs that stay as they are: other inputs of theirs are different.'),
        unconfigured: z
          .number()
          .int()
          .describe('Rows that stay as they are: no run sends their stream, which is not in the configuration.'),
      }),
    },
    handle: async ({ deps }, { body, actor }) => {
      const { stream, partnerId, submission, since, difference, alsoLater, beyondGuard } = body
      if (alsoLater && difference === undefined) {
        throw new Problem(400, 'request_malformed', 'alsoLater goes with difference: say which.')
      }
      const filter: ResendFilter = {
        ...(stream !== undefined && { stream: knownStream(deps.config, stream) }),
        ...(partnerId !== undefined && { partnerId }),
        ...(submission !== undefined && { submissionId: submission }),
        ...(since !== undefined && { since: new Date(since) }),
        ...(difference !== undefined && { difference, alsoLater }),
      }
      refuseAll(filter, body.all, body.dryRun)
      const told = { ...body, dryRun: undefined }
      const asked = Object.entries(told).filter(([, value]) => value !== undefined && value !== false)
      const resent = await resendAccepted(deps.db, {
        filter,
        carried: carriedStreams(deps.contract, deps.config),
        guard: deps.config.guard,
        beyondGuard,
        actor: body.dryRun ? null : actor,
        at: deps.now(),
        asked: Object.fromEntries(asked.map(([name, value]) => [name, String(value)])),
      })
      if (resent.total === 0) await requireKnownHotel(deps.db, partnerId)
      return resent
    },
  }),
  route({
    id: 'rereadStream',
    method: 'POST',
    path: '/v1/streams/{stream}/reread',
    summary: 'Have the next run read a stream again, wholly or from a cursor on, and compare it with the ledger',
    access: 'act',
    params: z.strictObject({ stream: z.string().min(1).max(200) }),
    body: z.strictObject({
      since: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe(
          'A cursor, a date or time, or a time ago such as 3d. Without it, new rows that the guard holds and that do not come are let go, also where fullEvery is never.',
        ),
      dryRun,
    }),
    answers: { 200: document },
    handle: async ({ deps }, { params: { stream }, body: { since, dryRun: dry }, actor }) => {
      const configured = deps.config.streams[stream]
      if (configured === undefined) throw new Problem(404, 'stream_unknown', `streams.${stream} is not configured.`)
      if (since !== undefined && configured.capture === 'snapshot') {
        throw new Problem(
          400,
          'request_malformed',
          `${stream} is read as a snapshot, whole each time; leave since out.`,
        )
      }
      const running = await runInTheWay(deps.db, night)
      if (!dry && running !== undefined && ['reference', 'extract'].includes(running.step)) {
        const why = `Run ${running.run_id} is reading the streams; ask again when it has gone on or ended.`
        throw new Problem(409, 'run_under_way', why)
      }
      const asked = { stream, since: since ?? null, now: deps.now(), actor: dry ? null : actor }
      const forgotten = await rereadStream(deps.db, asked)
      if (!('kind' in forgotten)) return forgotten
      const standing = 'watermark' in forgotten ? `, which stands at ${forgotten.watermark}` : ''
      const why = `since is ${forgotten.kind === 'not earlier' ? 'not before' : 'no value to go back to of'} the cursor of ${stream}${standing}.`
      throw new Problem(400, 'request_malformed', why)
    },
  }),
  route({
    id: 'listRemovals',
    method: 'GET',
    path: '/v1/removals',
    summary: 'What was removed and is kept, newest first',
    access: 'read',
    query: z.strictObject({
      limit,
      cursor: z.string().max(200).optional().describe('Where the page before ended: its `next`.'),
      partnerId: filterFields.partnerId,
      run: wholeNumber.optional().describe('Only what this run removed.'),
      since: z.iso.datetime({ offset: true }).optional().describe('Only what was removed since this moment.'),
    }),
    answers: {
      200: z.object({
        removals: z.array(
          z.object({
            part: z.enum(['value', 'property']),
            company_id: z.string(),
            calculator_id: z.string().nullable(),
            direction: z.enum(['input', 'output']).nullable(),
            variable_id: z.string().nullable(),
            property_id: z.string().nullable(),
            ordinal: z.number().int().nullable(),
            value: z.string(),
            removed_at: moment,
            run_id: z.number().int().nullable(),
          }),
        ),
        next: z.string().nullable(),
      }),
    },
    handle: async ({ db }, { query }) => {
      const { removals, next } = await pageOfRemovals(
        db,
        removalFilter(query),
        query.limit,
        placeOf(place, query.cursor),
      )
      if (removals.length === 0) await requireKnownHotel(db, query.partnerId)
      return { removals, next: next === null ? null : Buffer.from(JSON.stringify(next)).toString('base64url') }
    },
  }),
  route({
    id: 'restoreRemovals',
    method: 'POST',
    path: '/v1/removals/restore',
    summary: 'Bring back values and property values that were removed',
    access: 'act',
    body: z.strictObject({
      partnerId: filterFields.partnerId,
      run: run.optional(),
      since: z.iso.datetime({ offset: true }).optional(),
      all,
      dryRun,
    }),
    answers: { 200: z.object({ found: document, restored: document.nullable() }) },
    handle: async ({ deps }, { body, actor }) => {
      const filter = removalFilter(body)
      refuseAll(filter, body.all, body.dryRun)
      const found = await countRestorable(deps.db, filter)
      if (found.values + found.properties === 0) await requireKnownHotel(deps.db, body.partnerId)
      if (body.dryRun) return { found, restored: null }
      return { found, restored: await bringBack(deps, filter, actor, refuseWhileRunning) }
    },
  }),
]
