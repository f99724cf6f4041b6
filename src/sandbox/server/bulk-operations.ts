import { type BulkRequest, bulkRequests } from '../../exchange/contract.ts'
import { RequestRefused } from '../request-refused.ts'
import { checkAccess, countItems, identifiersOf, readBulkRequest } from '../requests/read-bulk-request.ts'
import { parseBody } from '../requests/read-json.ts'
import type { Sandbox } from '../sandbox.ts'
import { createAcceptance } from '../tasks/accept-task.ts'
import { type Operation, operation } from './operation.ts'
import { isLogged } from './request-log.ts'
import { pathOf } from './route-path.ts'

/** "Fewer than 100,000" companies per mapping request; no hard enforcement is stated, so more are only warned of. */
const manyMappings = 100_000

/** Every bulk request: checked as far as it can be without working on it, queued, answered with a correlation id. */
export function bulkOperations(sandbox: Sandbox, onQueued: () => void): Operation[] {
  const { contract, logger } = sandbox
  const accept = createAcceptance(sandbox)
  return bulkRequests.map((kind: BulkRequest) => {
    const endpoint = contract.endpoints[kind]
    return operation({
      id: kind,
      method: endpoint.method,
      path: endpoint.path,
      tag: 'Bulk requests',
      summary: kind,
      answers: { 200: { description: 'Queued.' } },
      handle: async ({ apiKey, bytes, request }) => {
        if (bytes.length === 0) throw new RequestRefused(400, 'body_malformed', 'The request has no body.')
        const read = readBulkRequest(contract, kind, parseBody(bytes))
        checkAccess(apiKey.profileId, read)
        const items = countItems(read, sandbox.knownCompanies)
        if (read.kind === 'companyMappings' && items >= manyMappings) logger.warn({ items }, 'sandbox_many_mappings')
        const correlationId = await accept({
          request: kind,
          profileId: apiKey.profileId,
          apiKeyId: apiKey.id,
          method: request.method,
          path: pathOf(request.url),
          items,
          identifiers: identifiersOf(read),
          body: bytes,
        })
        isLogged(request)
        onQueued()
        return { [contract.names.submitted.correlationId]: correlationId }
      },
    })
  })
}
