import fastify, { type FastifyInstance } from 'fastify'
import { administrationOperations } from '../administration/administration-operations.ts'
import { applicationOperations } from '../applications/application-operations.ts'
import { addAnswerChaos } from '../chaos/answer-chaos.ts'
import { addRequestChaos } from '../chaos/request-chaos.ts'
import { administrationDescription, describeAdministration } from '../description/administration-description.ts'
import { serveDescription } from '../description/serve-description.ts'
import { describeService } from '../description/service-description.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { addOperations } from './add-operations.ts'
import { answerErrors } from './answer-errors.ts'
import { bulkOperations } from './bulk-operations.ts'
import { latestFileOperations } from './latest-file-operations.ts'
import { referenceOperations } from './reference-operations.ts'
import { refuseForeignHosts, type Whereabouts } from './refuse-foreign-hosts.ts'
import { logRequests } from './request-log.ts'
import { answeredWithoutHost, requireHost } from './require-host.ts'
import { taskOperations } from './task-operations.ts'
import { answerUnexpected, unroutableErrors } from './unroutable-errors.ts'

/** The specification has no hard limit; above this, one body and its parsed form would endanger the process. */
const maxBodyBytes = 256 * 1024 * 1024

type ServerOptions = Whereabouts & {
  /** A request was queued. */
  onQueued: () => void
}

/** The service over HTTP: every answer is JSON, every error carries an errorCode and a message. */
export function buildServer(sandbox: Sandbox, options: ServerOptions): FastifyInstance {
  const server = fastify({
    bodyLimit: maxBodyBytes,
    forceCloseConnections: true,
    http: answeredWithoutHost,
    exposeHeadRoutes: false,
    ...unroutableErrors(sandbox),
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  answerErrors(server, sandbox, maxBodyBytes)
  // Node would say the time of the machine; what clients measure by it has to agree with the times of tasks.
  server.addHook('onSend', async (_request, reply) => {
    reply.header('date', new Date(sandbox.clock.now()).toUTCString())
  })
  answerUnexpected(server, sandbox)
  requireHost(server)
  refuseForeignHosts(server, options)
  addRequestChaos(server, sandbox)
  logRequests(server, sandbox)
  addAnswerChaos(server, sandbox)
  const service = [
    ...bulkOperations(sandbox, options.onQueued),
    ...taskOperations(sandbox),
    ...latestFileOperations(sandbox),
    ...referenceOperations(sandbox),
    ...applicationOperations(sandbox),
  ]
  const administration = administrationOperations(sandbox)
  addOperations(server, sandbox, [...service, ...administration])
  serveDescription(server, sandbox.contract.otherEndpoints.description, () => describeService(sandbox, service))
  serveDescription(server, administrationDescription, () => describeAdministration(sandbox, administration))
  return server
}
