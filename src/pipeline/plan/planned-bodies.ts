import { text } from 'node:stream/consumers'
import type { Submission } from '../../db/tables/submission.ts'
import type { Deps } from '../deps.ts'
import { readPayload } from '../push/sending/payload.ts'
import { writeBody } from '../push/sending/write-body.ts'
import type { PlannedRequest } from './planned-requests.ts'

export type PlannedBody = { submission_id: number; kind: string; body: string }

/**
 * The bodies of a wave's first requests, of kinds that were not shown before; at most `most` of each kind. A body is
 * written whole, so it is written only for those.
 */
export async function plannedBodies(
  deps: Deps,
  requests: readonly PlannedRequest[],
  before: readonly PlannedBody[],
  most: number,
): Promise<PlannedBody[]> {
  const bodies: PlannedBody[] = []
  for (const { submission_id, kind } of requests) {
    const shown = [...before, ...bodies].filter((body) => body.kind === kind).length
    if (shown >= most) continue
    const submission = await deps.db
      .selectFrom('submission')
      .selectAll()
      .where('submission_id', '=', submission_id)
      .executeTakeFirstOrThrow()
    const body = await bodyOf(deps, submission)
    bodies.push({ submission_id, kind, body })
  }
  return bodies
}

async function bodyOf(deps: Deps, submission: Submission): Promise<string> {
  if (submission.payload_bytes !== null) return await text(readPayload(deps.db, submission.submission_id))
  return await deps.db.transaction().execute(async (trx) => {
    const pieces: string[] = []
    for await (const piece of writeBody(deps, trx, submission)) pieces.push(piece)
    return pieces.join('')
  })
}
