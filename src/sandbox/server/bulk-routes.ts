import type { FastifyInstance } from 'fastify'
import { bulkRequests } from '../../exchange/contract.ts'
import { RequestRefused } from '../request-refused.ts'
import { checkAccess, countItems, identifiersOf, readBulkRequest } from '../requests/read-bulk-request.ts'
import { parseBody } from '../requests/read-json.ts'
import type { Sandbox } from '../sandbox.ts'
import { createAcceptance } from '../tasks/accept-task.ts'
import { authenticate } from './authenticate.ts'
import { isLogged } from './request-log.ts'
import { pathOf } from './route-path.ts'

/** "Fewer than 100,000" companies per mapping request; no hard enforcement is stated, so more are only warned of. */
const manyMappings = 100_000

/** Every bulk request: checked as far as it can be without working on it, queued, answered with a correlation id. */
export function addBulkRoutes(server: FastifyInstance, sandbox: Sandbox, onQueued: () => void): void {
  const { contract, logger } = sandbox
  const accept = createAcceptance(sandbox)
  for (const kind of bulkRequests) {
    const endpoint = contract.endpoints[kind]
    server.route({
      method: endpoint.method,
      url: endpoint.path,
      onRequest: async (request) => {
        authenticate(request)
      },
      handler: async (request) => {
        const apiKey = authenticate(request)
        const body: unknown = request.body
        if (!Buffer.isBuffer(body)) throw new RequestRefused(400, 'body_malformed', 'The request has no body.')
        const read = readBulkRequest(contract, kind, parseBody(body))
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
          body,
        })
        isLogged(request)
        onQueued()
        return { [contract.names.submitted.correlationId]: correlationId }
      },
    })
  }
}
