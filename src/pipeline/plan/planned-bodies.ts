import type { PlannedRequest } from '../../db/shadow/planned-requests.ts'
import type { Deps } from '../deps.ts'
import { decompress, writeBody } from '../push/begin-sending.ts'

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
    const body =
      submission.payload === null
        ? await writeBody(deps, submission)
        : (await decompress(submission.payload)).toString('utf8')
    bodies.push({ submission_id, kind, body })
  }
  return bodies
}
