import { referenceAnswers } from '../description/reference-answers.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from './operation.ts'
import {
  describeCustomProperties,
  describeFramework,
  describeFrameworks,
  describeGroups,
  describeUnitTypes,
} from './reference-replies.ts'

/** Unit types, frameworks, groups and custom properties: answered at once. */
export function referenceOperations({ contract, world }: Sandbox): Operation[] {
  const { endpoints, otherEndpoints } = contract
  const schemas = referenceAnswers(contract)
  const names = contract.names.customProperties
  const tag = 'Reference data'
  return [
    operation({
      id: 'listUnitTypes',
      ...endpoints.unitTypes,
      tag,
      summary: 'Unit types and their units',
      description:
        'The cheapest way to check credentials and connectivity.\n\nSpecification: Endpoints, Authentication.',
      answers: { 200: { description: 'All unit types.', schema: schemas.unitTypes } },
      handle: () => describeUnitTypes(contract, world),
    }),
    operation({
      id: 'listGroups',
      ...endpoints.groups,
      tag,
      summary: 'Groups',
      description: 'A group id is needed by the calculator upsert.\n\nSpecification: Endpoints.',
      answers: { 200: { description: 'The groups that the profile can use.', schema: schemas.groups } },
      handle: ({ apiKey }) => describeGroups(contract, world, apiKey.profileId),
    }),
    operation({
      id: 'listCustomProperties',
      ...endpoints.customProperties,
      tag,
      summary: 'Custom properties',
      description: `Those with ${names.isIdentifier} true can serve as custom identifiers.\n\nSpecification: Reference records.`,
      answers: {
        200: { description: 'Every custom property, marked as owned or not.', schema: schemas.customProperties },
      },
      handle: ({ apiKey }) => describeCustomProperties(contract, world, apiKey.profileId),
    }),
    operation({
      id: 'customIdentifiersV1',
      ...otherEndpoints.customIdentifiersV1,
      tag,
      summary: 'Custom identifiers (deprecated)',
      description: `Those of ${endpoints.customProperties.path} that can serve as custom identifiers.\n\nSpecification: Versioning.`,
      deprecated: true,
      answers: { 200: { description: 'The custom identifiers.', schema: schemas.customProperties } },
      handle: ({ apiKey }) =>
        describeCustomProperties(
          contract,
          world,
          apiKey.profileId,
          world.customProperties.filter(({ isIdentifier }) => isIdentifier),
        ),
    }),
    operation({
      id: 'listFrameworks',
      ...endpoints.frameworks,
      tag,
      summary: 'Frameworks',
      answers: { 200: { description: 'All frameworks.', schema: schemas.frameworks } },
      handle: () => describeFrameworks(contract, world),
    }),
    operation({
      id: 'readFramework',
      ...endpoints.framework,
      tag,
      summary: 'A framework with its questions, data points and options',
      description:
        'Answers carry ids of its data points, options and units.\n\nSpecification: Framework answers upsert request.',
      answers: {
        200: { description: 'The framework.', schema: schemas.framework },
        404: { description: 'There is no such framework.' },
      },
      handle: ({ params: { frameworkId = '' } }) => {
        const wanted = frameworkId.toLowerCase()
        const framework = world.frameworks.find(({ id }) => id === wanted)
        if (!framework) throw new RequestRefused(404, 'framework_not_found', `There is no framework "${wanted}".`)
        return describeFramework(contract, framework)
      },
    }),
  ]
}
