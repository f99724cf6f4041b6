import { z } from 'zod'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import { listDifferences, listRowDifferences } from '../../db/differences/list-differences.ts'
import { driftRows } from '../../db/ledger/drift-rows.ts'
import { parkedGroups } from '../../db/ledger/parked-groups.ts'
import type { RowFilter } from '../../db/ledger/row-filter.ts'
import { causesOfRows, pageOfRows, type RowPlace } from '../../db/ledger/rows-in-state.ts'
import { differenceKinds } from '../../db/tables/difference-tables.ts'
import { hotelsOf, tracePartner, unknownHotelWords } from '../../db/trace/trace-partner.ts'
import { uuidOf } from '../../exchange/wire-value.ts'
import { given } from '../../given.ts'
import { statusOf } from '../../jobs/whole-status.ts'
import { resendPolicies } from '../../pipeline/preflight/judgements.ts'
import { listChanges } from '../../pipeline/pull/merge/value-history.ts'
import { cacheOf } from '../answer-cache.ts'
import { countBacklog } from '../count-backlog.ts'
import { requireKnownHotel, unknownHotel } from '../known-hotel.ts'
import { knownStream } from '../problem.ts'
import { cutAt, document, limit, moment, more, placeOf, type Route, route, wholeNumber } from '../route.ts'

const state = z.enum(['rejected', 'invalid', 'parked', 'unknown'])

/** What narrows rows down, as the options of the verbs do. */
export const filterFields = {
  stream: z.string().min(1).optional().describe('Only rows of a stream.'),
  partnerId: z
    .string()
    .optional()
    .describe('Only rows of one hotel. One of which nothing was ever read is answered 404, `hotel_unknown`.'),
  reason: z.string().regex(/\S/, 'is blank').optional().describe('Only rows with this text in the code or the reason.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Only rows that are so since this moment.'),
}

type Fields = z.infer<z.ZodObject<typeof filterFields>>

/**
 * The filter that a request asks for.
 * @throws {Problem} when there is no such stream.
 */
export function rowFilter(config: Config, { stream, partnerId, reason, since }: Fields): RowFilter {
  return given({
    stream: stream === undefined ? undefined : knownStream(config, stream),
    partnerId,
    reason,
    since: since === undefined ? undefined : new Date(since),
  })
}

const cursor = z.string().max(200).optional().describe('Where the page before ended: its `next`.')

const place = z.strictObject({ at: z.string().regex(/^\d{4,6}-\d\d-\d\d [\d:.+-]+$/), rowId: z.number().int().min(0) })

const cursorOf = (next: RowPlace | null) =>
  next === null ? null : Buffer.from(JSON.stringify(next)).toString('base64url')

const listedRow = z
  .object({
    stream: z.string(),
    partner_id: z.string(),
    row_key: z.string(),
    content: document,
    code: z.string().nullable(),
    reason: z.string(),
    at: moment,
    submission_id: z.number().int().nullable(),
    correlation_id: z.string().nullable(),
    task_status: z.string().nullable(),
    retry_asked: z.boolean(),
    sent_again: z.boolean(),
    held_run: z.number().int().nullable(),
    suspended: z.boolean().describe('Its hotel is suspended: nothing of it goes out before somebody resumes it.'),
  })
  .loose()

/** Of each list of a trace at most, and hotels of one company that are named. */
const traced = { limit: 1_000, hotels: 20 }

export const ledgerRoutes: readonly Route[] = [
  route({
    id: 'getStatus',
    method: 'GET',
    path: '/v1/status',
    summary: 'The last run and the ledger at a glance, as `nightferry status --json`',
    access: 'read',
    answers: { 200: document },
    handle: async ({ db, deps }) => await statusOf(db, deps.config, deps.contract, deps.now(), 'workers'),
  }),
  route({
    id: 'listRows',
    method: 'GET',
    path: '/v1/rows',
    summary:
      'The rows in a state that needs a person, newest first, with the reason; texts over 1,000 characters are cut',
    access: 'read',
    query: z.strictObject({ state, limit, cursor, ...filterFields }),
    answers: { 200: z.object({ rows: z.array(listedRow), next: z.string().nullable() }) },
    handle: async ({ db, deps }, { query }) => {
      const { rows, next } = await pageOfRows(db, query.state, {
        requires: requirementsOf(deps.config),
        policies: resendPolicies(deps.config, deps.contract),
        filter: rowFilter(deps.config, query),
        limit: query.limit,
        past: placeOf(place, query.cursor),
      })
      if (rows.length === 0) await requireKnownHotel(db, query.partnerId)
      return { rows, next: cursorOf(next) }
    },
  }),
  route({
    id: 'listCauses',
    method: 'GET',
    path: '/v1/rows/causes',
    summary: 'Why rows are in a state, those causes first that have the most rows',
    access: 'read',
    query: z.strictObject({ state, limit, ...filterFields }),
    answers: {
      200: z.object({
        causes: z.array(
          z.object({
            stream: z.string(),
            code: z.string().nullable(),
            reason: z.string().nullable(),
            rows: z.number().int(),
            hotels: z.number().int(),
            first_at: moment,
            last_at: moment,
          }),
        ),
        more,
        as_of: moment.describe('When the rows were counted; in a large ledger some seconds ago.'),
      }),
    },
    handle: async (context, { query }) => {
      const { db, deps } = context
      const requires = requirementsOf(deps.config)
      const { answer, asOf } = await cacheOf(context).often(`causes ${JSON.stringify(query)}`, deps.now(), (begin) =>
        countBacklog(
          db,
          (own) =>
            causesOfRows(own, query.state, { requires, filter: rowFilter(deps.config, query), limit: query.limit + 1 }),
          begin,
        ),
      )
      const { rows: causes, more: others } = cutAt(answer, query.limit)
      if (causes.length === 0) await requireKnownHotel(db, query.partnerId)
      return { causes, more: others, as_of: asOf }
    },
  }),
  route({
    id: 'listParked',
    method: 'GET',
    path: '/v1/rows/parked-groups',
    summary: 'How many rows of each hotel wait for the same, the most first',
    access: 'read',
    query: z.strictObject({ limit, ...filterFields }),
    answers: { 200: z.object({ groups: z.array(document), total: document }) },
    handle: async ({ db, deps }, { query }) => {
      const filter = rowFilter(deps.config, query)
      const parked = await parkedGroups(db, requirementsOf(deps.config), filter, query.limit, 'short')
      if (parked.groups.length === 0) await requireKnownHotel(db, query.partnerId)
      return parked
    },
  }),
  route({
    id: 'traceHotel',
    method: 'GET',
    path: '/v1/hotels/{hotel}',
    summary:
      'One hotel, from the partner to what came back, by the partner’s id or that of its company: 1,000 of each list at most, and how many `more` there are; texts over 1,000 characters are cut',
    access: 'read',
    params: z.strictObject({ hotel: z.string().min(1).max(1_000) }),
    answers: { 200: document },
    handle: async ({ db, deps }, { params: { hotel } }) => {
      const policies = resendPolicies(deps.config, deps.contract)
      const trace = (id: string) => tracePartner(db, id, requirementsOf(deps.config), policies, traced.limit)
      const named = await trace(hotel)
      if (named !== null) return named
      const companyId = uuidOf(hotel.trim())
      const hotels = companyId === null ? [] : await hotelsOf(db, companyId, traced.hotels)
      const [only] = hotels
      const found = only === undefined || hotels.length > 1 ? null : await trace(only)
      if (found !== null) return found
      throw unknownHotel(await unknownHotelWords(db, hotel, hotels.length > 1 ? hotels : []))
    },
  }),
  route({
    id: 'listDifferences',
    method: 'GET',
    path: '/v1/differences',
    summary: 'Rows that the service accepted and does not show as they were sent; texts over 1,000 characters are cut',
    access: 'read',
    query: z.strictObject({
      limit,
      kind: z.enum(differenceKinds).optional(),
      partnerId: filterFields.partnerId,
      since: filterFields.since,
    }),
    answers: {
      200: z.object({
        inputs: z.array(document),
        others: z.array(document),
        more: more.describe('There are more than `limit` inputs, or others.'),
      }),
    },
    handle: async ({ db }, { query }) => {
      const { kind, partnerId, since } = query
      const filter = {
        kinds: kind === undefined ? (['absent', 'different'] as const) : [kind],
        ...(partnerId !== undefined && { partnerId }),
        ...(since !== undefined && { since: new Date(since) }),
      }
      const inputs = cutAt(await listDifferences(db, filter, query.limit + 1, 'short'), query.limit)
      const others = cutAt(await listRowDifferences(db, filter, query.limit + 1, 'short'), query.limit)
      if (inputs.rows.length + others.rows.length === 0) await requireKnownHotel(db, partnerId)
      return { inputs: inputs.rows, others: others.rows, more: inputs.more || others.more }
    },
  }),
  route({
    id: 'listDrift',
    method: 'GET',
    path: '/v1/drift',
    summary:
      'What the service has of rows that are gone here, and of hotels that became another company; texts over 1,000 characters are cut',
    access: 'read',
    query: z.strictObject({ limit, stream: filterFields.stream }),
    answers: { 200: z.object({ rows: z.array(document), more }) },
    handle: async ({ db, deps }, { query: { limit: most, ...query } }) => {
      const stream = query.stream === undefined ? null : knownStream(deps.config, query.stream)
      return cutAt(await driftRows(db, stream, most + 1, 'short'), most)
    },
  }),
  route({
    id: 'listChanges',
    method: 'GET',
    path: '/v1/changes',
    summary:
      'Values of calculators that the service shows otherwise than before, newest first; texts over 1,000 characters are cut',
    access: 'read',
    query: z.strictObject({
      limit,
      run: wholeNumber.optional(),
      partnerId: filterFields.partnerId,
      since: filterFields.since,
    }),
    answers: { 200: z.object({ changes: z.array(document), more }) },
    handle: async ({ db }, { query }) => {
      const { run, partnerId, since } = query
      const filter = given({ runId: run, partnerId, since: since === undefined ? undefined : new Date(since) })
      const { rows: changes, more: others } = cutAt(
        await listChanges(db, filter, query.limit + 1, 'short'),
        query.limit,
      )
      if (changes.length === 0) await requireKnownHotel(db, partnerId)
      return { changes, more: others }
    },
  }),
]
