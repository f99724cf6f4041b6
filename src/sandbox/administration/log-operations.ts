import { z } from 'zod'
import { RequestRefused } from '../request-refused.ts'
import type { Queryable, Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'

const line = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    profileId: z.int().nullable(),
    method: z.string(),
    path: z.string(),
    httpStatus: z.int().nullable().meta({ description: 'What the service answered; null: no answer, or no request.' }),
    correlationId: z.guid().nullable(),
    task: z.int().nullable().meta({ description: 'The place of the task in the order of all tasks.' }),
    phase: z.enum(['received', 'picked_up', 'terminal', 'chaos']),
    status: z.string().nullable(),
    identifiers: z.array(z.string()).nullable(),
    keySent: z.boolean().nullable().meta({ description: 'Whether an Authorization header came; null: no request.' }),
    chaos: z.array(z.string()).nullable().meta({ description: 'The profiles of trouble that struck.' }),
  })
  .meta({ id: 'LogLine', description: 'A request, or a step in the course of a task.' })
const logAnswer = z.object({ lines: z.array(line) })

/** Lines on one answer: what is asked for, up to the most. */
const usualLines = 1000
const mostLines = 10_000

/** The request log: what came, what became of it, and what chaos did. */
export function logOperations({ pool }: Pick<Sandbox, 'pool'>): Operation[] {
  return [
    operation({
      id: 'readLog',
      method: 'GET',
      path: '/sandbox/log',
      tag: 'Log',
      summary: 'The request log, the oldest line first',
      description:
        `\`limit\`: how many lines, ${usualLines} unless said otherwise; \`after\`: the id of a line, to read on from ` +
        'there. Reading the administration API leaves no line, changing something by it does.',
      answers: { 200: { description: 'Lines; fewer than asked for at the end of the log.', schema: logAnswer } },
      handle: async ({ query: { after = '0', limit = String(usualLines) } }) => {
        if (!/^\d{1,15}$/.test(after)) throw new RequestRefused(400, 'query_invalid', 'after must be the id of a line.')
        if (!/^[1-9]\d{0,4}$/.test(limit) || Number(limit) > mostLines) {
          throw new RequestRefused(400, 'query_invalid', `limit must be 1 to ${mostLines}.`)
        }
        return { lines: await readLines(pool, Number(after), Number(limit)) }
      },
    }),
  ]
}

type Row = {
  id: string
  at: Date
  profile_id: number | null
  method: string
  path: string
  http_status: number | null
  correlation_id: string | null
  task: string | null
  phase: string
  status: string | null
  identifiers: string[] | null
  key_sent: boolean | null
  chaos: string[] | null
}

async function readLines(db: Queryable, after: number, limit: number): Promise<unknown[]> {
  const { rows } = await db.query<Row>(
    `select l.id, l.at, l.profile_id, l.method, l.path, l.http_status, l.correlation_id, t.sequence as task, l.phase,
       l.status, l.identifiers, l.key_sent, l.chaos
     from sandbox.request_log l left join sandbox.task t on t.id = l.correlation_id
     where l.id > $1 order by l.id limit $2`,
    [after, limit],
  )
  return rows.map((row) => ({
    id: Number(row.id),
    at: row.at.toISOString(),
    profileId: row.profile_id,
    method: row.method,
    path: row.path,
    httpStatus: row.http_status,
    correlationId: row.correlation_id,
    task: row.task === null ? null : Number(row.task),
    phase: row.phase,
    status: row.status,
    identifiers: row.identifiers,
    keySent: row.key_sent,
    chaos: row.chaos,
  }))
}
