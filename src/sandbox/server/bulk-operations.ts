import { refusalOverRows } from '../chaos/row-chaos.ts'
import { noteStrike, strikesOn } from '../chaos/struck.ts'
import { taskAnswers } from '../description/task-answers.ts'
import {
  type BodyKind,
  bulkBodies,
  checkAccess,
  checkLimits,
  countItems,
  identifiersOf,
  type ReadRequest,
} from '../requests/read-bulk-request.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { createAcceptance } from '../tasks/accept-task.ts'
import { isSearch } from '../tasks/sandbox-task.ts'
import { awaitEarlyDelivery } from '../webhooks/await-early-delivery.ts'
import { bulkEndpoints } from './bulk-endpoints.ts'
import { type Operation, operation } from './operation.ts'
import { isLogged } from './request-log.ts'

/** "Fewer than 100,000" companies per mapping request; no hard enforcement is stated, so more are only warned of. */
const manyMappings = 100_000

/** Every bulk request: checked as far as it can be without working on it, queued, answered with a correlation id. */
export function bulkOperations(sandbox: Sandbox, onQueued: () => void): Operation[] {
  const { contract, logger, world } = sandbox
  const accept = createAcceptance(sandbox)
  const bodies = bulkBodies(contract)
  const { submitted } = taskAnswers(contract)
  return bulkEndpoints(contract).map(({ task, body, ...endpoint }) =>
    operation<ReadRequest>({
      ...endpoint,
      tag: 'Bulk requests',
      body: bodies[body],
      answers: {
        200: { description: 'Queued.', schema: submitted },
        ...(namesProperties(body) && {
          403: { description: "The group or a custom property is none that the key's profile can use." },
        }),
      },
      handle: async ({ apiKey, body: read, bytes, request }) => {
        checkLimits(read)
        checkAccess(world, apiKey.profileId, read)
        const refusal = refusalOverRows(sandbox.chaos, read)
        if (refusal !== null) {
          noteStrike(request, refusal.name)
          throw refusal.refused
        }
        const items = countItems(read, { companies: sandbox.knownCompanies, standards: world.standards.length })
        if (read.kind === 'companyMappings' && items >= manyMappings) logger.warn({ items }, 'sandbox_many_mappings')
        const correlationId = await accept({
          request: task,
          profileId: apiKey.profileId,
          apiKeyId: apiKey.id,
          method: request.method,
          // As the contract spells it: the path as it came may be written in another way, and tells the body apart.
          path: endpoint.path,
          items,
          identifiers: identifiersOf(read),
          body: bytes,
          chaos: strikesOn(request),
        })
        isLogged(request)
        onQueued()
        await awaitEarlyDelivery(sandbox, correlationId)
        return { [contract.names.submitted.correlationId]: correlationId }
      },
    }),
  )
}

/** What a search names and the profile cannot use is left out, not refused. */
function namesProperties(body: BodyKind): boolean {
  return body === 'consolidatedUpsert' || !isSearch(body)
}
