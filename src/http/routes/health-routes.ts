import { z } from 'zod'
import { requireSchema } from '../../db/schema-standing.ts'
import { nightlySync } from '../../jobs/nightly-sync.ts'
import { judgeFreshness, newestCarried } from '../answer-cache.ts'
import { Answer, type HttpContext, moment, Plain, type Route, route } from '../route.ts'

const health = z.object({ ok: z.boolean(), why: z.string() })

/** Whether the process can do its work: its database answers and has the schema that this version works with. */
async function readiness({ db, stopping }: HttpContext): Promise<z.infer<typeof health>> {
  if (stopping.aborted) return { ok: false, why: 'The daemon is ending.' }
  try {
    await requireSchema(db)
    return { ok: true, why: 'The database answers, and has the schema of this version.' }
  } catch (error) {
    const { code } = error as { code?: unknown }
    // The words of the error may name hosts; the log and nightferry status say more.
    return { ok: false, why: `The database cannot be worked with: ${typeof code === 'string' ? code : 'unknown'}.` }
  }
}

export const healthRoutes: readonly Route[] = [
  route({
    id: 'live',
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process is at work: restart it if this does not answer',
    access: 'open',
    answers: { 200: health },
    handle: () => ({ ok: true, why: 'The process answers.' }),
  }),
  route({
    id: 'ready',
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the process can do its work, by its database',
    access: 'open',
    answers: { 200: health, 503: health },
    handle: async (context) => {
      const found = await readiness(context)
      return new Answer(found.ok ? 200 : 503, found)
    },
  }),
  route({
    id: 'fresh',
    method: 'GET',
    path: '/freshz',
    summary: 'Whether the data are as fresh as http.freshWithinMs promises',
    access: 'open',
    answers: {
      200: z.object({ fresh: z.boolean(), since: moment.nullable(), why: z.string() }),
      503: z.object({ fresh: z.boolean(), since: moment.nullable(), why: z.string() }),
    },
    handle: async ({ db, deps }) => {
      const carried = await newestCarried(db, nightlySync.name).catch(() => null)
      if (carried === null) return new Answer(503, { fresh: false, since: null, why: 'The database does not answer.' })
      const found = judgeFreshness(carried, deps.now(), deps.config.http.freshWithinMs)
      return new Answer(found.fresh ? 200 : 503, found)
    },
  }),
  route({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics in the text format of Prometheus',
    access: 'metrics',
    answers: { 200: 'text/plain' },
    handle: async ({ metrics }) => new Plain(metrics.contentType, await metrics.text()),
  }),
]
