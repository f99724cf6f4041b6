import type { BulkRequest } from '../../exchange/contract.ts'
import { taskAnswers } from '../description/task-answers.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Queryable, Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from './operation.ts'

/**
 * The deprecated way to a search's files: those of the profile's search that finished last, through whichever version
 * it was submitted. Spec gap: what these endpoints answer is not shown, docs/spec-gaps.md.
 */
export function latestFileOperations(sandbox: Sandbox): Operation[] {
  const { contract, pool, fileUrl } = sandbox
  const { endpoints, otherEndpoints, names } = contract
  const { latestFile } = taskAnswers(contract)
  const latest = (id: 'companiesLatestFileV1' | 'standardsLatestFileV1', search: BulkRequest, what: string) =>
    operation({
      ...otherEndpoints[id],
      ...{ id, tag: 'Tasks', deprecated: true },
      summary: `Pages of the newest finished search for ${what} (deprecated)`,
      description: `Its successor is the task of ${endpoints[search].path}.\n\nSpecification: Versioning.`,
      answers: {
        200: { description: 'The addresses of the pages.', schema: latestFile },
        404: { description: 'No such search has finished.' },
      },
      handle: async ({ apiKey }) => {
        const tokens = await readTokens(pool, search, apiKey.profileId)
        if (tokens === null) throw new RequestRefused(404, 'file_not_found', `No search for ${what} has finished.`)
        return { [names.latestFile.pageUrls]: tokens.map(fileUrl) }
      },
    })
  return [
    latest('companiesLatestFileV1', 'companiesSearch', 'companies'),
    latest('standardsLatestFileV1', 'standardsSearch', 'standards'),
  ]
}

async function readTokens(db: Queryable, search: BulkRequest, profileId: number): Promise<string[] | null> {
  const { rows } = await db.query<{ tokens: string[] }>(
    `select (select coalesce(array_agg(token order by ordinal), '{}') from sandbox.file 
       where task_id = task.id and ordinal >= 0) as tokens
     from sandbox.task
     where profile_id = $1 and request = $2 and status in ('success', 'partialSuccess')
     order by finished_at desc, sequence desc limit 1`,
    [profileId, search],
  )
  return rows[0]?.tokens ?? null
}
