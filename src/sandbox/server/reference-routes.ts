import type { FastifyInstance } from 'fastify'
import { catalogue } from '../catalogue.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../sandbox.ts'
import { authenticate } from './authenticate.ts'
import {
  describeCustomProperties,
  describeFramework,
  describeFrameworks,
  describeGroups,
  describeUnitTypes,
} from './reference-documents.ts'
import { routePath } from './route-path.ts'

/** Unit types, frameworks, groups and custom properties: answered at once. */
export function addReferenceRoutes(server: FastifyInstance, { contract }: Sandbox): void {
  const { endpoints } = contract
  server.get(endpoints.unitTypes.path, (request) => {
    authenticate(request)
    return describeUnitTypes(contract)
  })
  server.get(endpoints.groups.path, (request) => describeGroups(contract, authenticate(request).profileId))
  server.get(endpoints.customProperties.path, (request) =>
    describeCustomProperties(contract, authenticate(request).profileId),
  )
  server.get(endpoints.frameworks.path, (request) => {
    authenticate(request)
    return describeFrameworks(contract)
  })
  server.get<{ Params: { frameworkId: string } }>(routePath(endpoints.framework.path), (request) => {
    authenticate(request)
    const wanted = request.params.frameworkId.toLowerCase()
    const framework = catalogue.frameworks.find(({ id }) => id === wanted)
    if (!framework) throw new RequestRefused(404, 'framework_not_found', `There is no framework "${wanted}".`)
    return describeFramework(contract, framework)
  })
}
