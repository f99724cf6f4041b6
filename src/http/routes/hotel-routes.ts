import { z } from 'zod'
import { listSuspensions } from '../../db/ledger/suspended-hotels.ts'
import { beginPilot, endPilot, resumeHotels, suspendHotels } from '../../pipeline/actions/suspend-hotels.ts'
import { count, limit, moment, type Route, route } from '../route.ts'

const hotelId = z.string().min(1).max(1_000)
const hotel = z.strictObject({ hotel: hotelId.describe('The partner’s id.') })
const reason = z.string().trim().min(1).max(1_000).describe('Why, for anyone who looks.')
const unknown = z.boolean().default(false).describe('Also if nothing was ever read of it.')
const ids = z.array(z.string())
const strangers = ids.describe('Those of which nothing was ever read.')

/** Of which hotels nothing is sent. */
export const hotelRoutes: readonly Route[] = [
  route({
    id: 'listSuspensions',
    method: 'GET',
    path: '/v1/suspensions',
    summary: 'The hotels that are suspended by their ids, in the order of these, and the pilot',
    access: 'read',
    query: z.strictObject({
      limit,
      cursor: hotelId.optional().describe('Where the page before ended: its `next`.'),
    }),
    answers: {
      200: z.object({
        pilot: z
          .object({
            reason: z.string(),
            started_by: z.string(),
            started_at: moment,
            ended_by: z.string().nullable(),
            ended_at: moment.nullable().describe('Ended, and on until the next run.'),
            hotels: z.array(
              z.object({
                partner_id: z.string(),
                joined_by: z.string(),
                joined_at: z.string(),
                from_next_run: z.boolean(),
              }),
            ),
            others: count.describe('Other hotels that are known.'),
          })
          .nullable(),
        suspended: z.array(
          z.object({
            partner_id: z.string(),
            reason: z.string(),
            suspended_by: z.string(),
            suspended_at: moment,
            resumed_by: z.string().nullable(),
            resumed_at: moment.nullable().describe('Resumed, and suspended until the next run.'),
          }),
        ),
        next: z.string().nullable(),
      }),
    },
    handle: async ({ db }, { query }) => await listSuspensions(db, query.limit, query.cursor ?? null),
  }),
  route({
    id: 'suspendHotel',
    method: 'POST',
    path: '/v1/hotels/{hotel}/suspend',
    summary: 'Send nothing more of a hotel until it is resumed; what is on its way goes on',
    access: 'act',
    params: hotel,
    body: z.strictObject({ reason, unknown }),
    answers: {
      200: z.object({
        suspended: ids,
        already: ids.describe('Those that were suspended already.'),
        unknown: strangers,
        on_the_way: z.array(z.object({ partner_id: z.string(), submission_id: count, stream: z.string() })),
        same_company: z
          .array(z.object({ partner_id: z.string(), company_id: z.string(), other: z.string() }))
          .describe('Other hotels that are the same company, and are sent as ever.'),
      }),
    },
    handle: async ({ deps }, { params, body, actor }) =>
      await suspendHotels(deps.db, { hotels: [params.hotel], ...body, actor, at: deps.now() }),
  }),
  route({
    id: 'resumeHotel',
    method: 'POST',
    path: '/v1/hotels/{hotel}/resume',
    summary: 'Have the next run send what is pending of a hotel; during a pilot it joins it',
    access: 'act',
    params: hotel,
    body: z.strictObject({ unknown }),
    answers: {
      200: z.object({ resumed: ids, already: ids.describe('Those that were not suspended.'), unknown: strangers }),
    },
    handle: async ({ deps }, { params, body, actor }) =>
      await resumeHotels(deps.db, { hotels: [params.hotel], ...body, actor, at: deps.now() }),
  }),
  route({
    id: 'beginPilot',
    method: 'POST',
    path: '/v1/pilot',
    summary: 'Send only these hotels, and suspend all others, also those that the partner adds',
    access: 'act',
    body: z.strictObject({ hotels: z.array(hotelId).min(1).max(10_000), reason, unknown }),
    answers: {
      200: z.object({
        hotels: ids,
        unknown: strangers,
        on_the_way: count.describe('Other hotels with rows on their way, which go on.'),
      }),
    },
    handle: async ({ deps }, { body, actor }) => await beginPilot(deps.db, { ...body, actor, at: deps.now() }),
  }),
  route({
    id: 'endPilot',
    method: 'POST',
    path: '/v1/pilot/end',
    summary: 'End the pilot: the next run sends what is pending of all hotels',
    access: 'act',
    answers: { 200: z.object({ ended: z.boolean() }) },
    handle: async ({ deps }, { actor }) => {
      await endPilot(deps.db, { actor, at: deps.now() })
      return { ended: true }
    },
  }),
]
