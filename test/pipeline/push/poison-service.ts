import { randomUUID } from 'node:crypto'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { lookAtSubmission } from '../../../src/pipeline/push/look-at-submission.ts'
import type { Landing } from '../../db/ledger/ledger.ts'
import { type HttpServer, httpServer, sendJson } from '../../exchange/fault-server.ts'
import type { Ferry } from './ferry.ts'

type Asked = { body: string; openWith: string[] }
type PoisonService = HttpServer & {
  /** Every request, with the bodies of those whose tasks had not ended when it came. */
  requests: Asked[]
  /** Whether tasks end when they are asked for; while false they stay in progress. */
  ending: boolean
}

/** A service that fails as a whole over a request in which a poisoned text stands, and takes every other. */
export async function poisonService(poison: (body: string) => boolean): Promise<PoisonService> {
  const tasks = new Map<string, { body: string; ended: boolean; path: string }>()
  const requests: Asked[] = []
  const server = await httpServer((request, response) => {
    const address = `http://${request.headers.host}`
    if (request.method === 'POST') {
      const correlationId = randomUUID()
      requests.push({
        body: request.body,
        openWith: [...tasks.values()].filter(({ ended }) => !ended).map(({ body }) => body),
      })
      tasks.set(correlationId, { body: request.body, ended: false, path: request.path })
      sendJson(response, { correlationId })
      return
    }
    const id = request.path.split('/').at(-1) ?? ''
    const task = tasks.get(id)
    if (task === undefined) sendJson(response, { errorCode: 'unknown', message: request.path }, 404)
    else if (request.path.startsWith('/files/')) {
      const { companies } = JSON.parse(task.body) as { companies: { id: string }[] }
      sendJson(response, {
        companies: companies.map((one) => ({ id: one.id, status: 'Mapped', companyId: randomUUID() })),
      })
    } else if (!service.ending) sendJson(response, { correlationId: id, status: 'InProgress' })
    else {
      task.ended = true
      const failed = poison(task.body)
      const file = !failed && task.path.includes('mappings') ? { file: { url: `${address}/files/${id}` } } : {}
      const error = failed ? { error: { generalErrorMessages: ['It broke.'] } } : {}
      sendJson(response, { correlationId: id, status: failed ? 'Error' : 'Success', ...file, ...error })
    }
  })
  const service: PoisonService = Object.assign(server, { requests, ending: true })
  return service
}

/** Submissions that have not ended, oldest first. */
export const unfinished = (ferry: Ferry) =>
  ferry.ledger.db
    .selectFrom('submission')
    .select('submission_id')
    .where('state', 'in', ['planned', 'sending', 'accepted', 'terminal', 'uncertain'])
    .orderBy('submission_id')
    .execute()

/** One after the other. */
function inTurn(): () => number {
  let at = 0
  return () => at++
}

/** Looks at everything that is unfinished, in the order that `pick` says, until nothing is. */
export async function untilAllSettled(ferry: Ferry, deps: Deps, pick: () => number = inTurn()): Promise<void> {
  for (let looks = 0; ; looks++) {
    const open = await unfinished(ferry)
    const next = open.length === 0 ? undefined : open[pick() % open.length]
    if (next === undefined) return
    if (looks > 500) throw new Error(`after ${looks} looks ${open.length} submissions are unfinished`)
    await lookAtSubmission(deps, next.submission_id)
  }
}

/** Hotels whose names tell their places. */
export const properties = (count: number): Landing[] =>
  Array.from({ length: count }, (_, at) => ({
    partner_id: `H-${String(at).padStart(3, '0')}`,
    content: { name: `n${at}.` },
  }))

/** What became of each row of a stream: the code of its outcome, or the outcome. */
export async function outcomes(ferry: Ferry, stream: string): Promise<Record<string, string | null>> {
  const rows = await ferry.ledger.db
    .selectFrom('ledger')
    .selectAll()
    .where('stream', '=', stream)
    .orderBy('row_id')
    .execute()
  return Object.fromEntries(rows.map(({ row_key, outcome, outcome_code }) => [row_key, outcome_code ?? outcome]))
}
