import { catalogue } from '../catalogue.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../sandbox.ts'
import { type Operation, operation } from './operation.ts'
import {
  describeCustomProperties,
  describeFramework,
  describeFrameworks,
  describeGroups,
  describeUnitTypes,
} from './reference-documents.ts'

/** Unit types, frameworks, groups and custom properties: answered at once. */
export function referenceOperations({ contract }: Sandbox): Operation[] {
  const { endpoints } = contract
  const tag = 'Reference data'
  return [
    operation({
      id: 'listUnitTypes',
      ...endpoints.unitTypes,
      tag,
      summary: 'Unit types and their units',
      answers: { 200: { description: 'All unit types.' } },
      handle: () => describeUnitTypes(contract),
    }),
    operation({
      id: 'listGroups',
      ...endpoints.groups,
      tag,
      summary: 'Groups',
      answers: { 200: { description: 'The groups that the profile can use.' } },
      handle: ({ apiKey }) => describeGroups(contract, apiKey.profileId),
    }),
    operation({
      id: 'listCustomProperties',
      ...endpoints.customProperties,
      tag,
      summary: 'Custom properties',
      answers: { 200: { description: 'Every custom property, marked as owned or not.' } },
      handle: ({ apiKey }) => describeCustomProperties(contract, apiKey.profileId),
    }),
    operation({
      id: 'listFrameworks',
      ...endpoints.frameworks,
      tag,
      summary: 'Frameworks',
      answers: { 200: { description: 'All frameworks.' } },
      handle: () => describeFrameworks(contract),
    }),
    operation({
      id: 'readFramework',
      ...endpoints.framework,
      tag,
      summary: 'A framework with its questions, data points and options',
      answers: { 200: { description: 'The framework.' } },
      handle: ({ params: { frameworkId = '' } }) => {
        const wanted = frameworkId.toLowerCase()
        const framework = catalogue.frameworks.find(({ id }) => id === wanted)
        if (!framework) throw new RequestRefused(404, 'framework_not_found', `There is no framework "${wanted}".`)
        return describeFramework(contract, framework)
      },
    }),
  ]
}
