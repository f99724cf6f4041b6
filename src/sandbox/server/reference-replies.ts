import type { Contract } from '../../exchange/contract.ts'
import type { CustomProperty } from '../catalogue/accounts.ts'
import type { UnitType } from '../catalogue/unit-types.ts'
import type { World, WorldFramework, WorldPoint } from '../service-world.ts'

export function describeUnitTypes(contract: Contract, world: World): unknown {
  return world.unitTypes.map((unitType) => describeUnitType(contract, unitType))
}

/** The groups that the profile can use. */
export function describeGroups(contract: Contract, world: World, profileId: number): unknown {
  const names = contract.names.groups
  return world.groups
    .filter((group) => group.profileId === profileId)
    .map(({ id, name }) => ({ [names.id]: id, [names.name]: name }))
}

/** Custom properties, by default every one, marked as owned or not. */
export function describeCustomProperties(
  contract: Contract,
  world: World,
  profileId: number,
  properties: readonly CustomProperty[] = world.customProperties,
): unknown {
  const names = contract.names.customProperties
  return properties.map((property) => ({
    [names.id]: property.id,
    [names.name]: property.name,
    [names.type]: property.type,
    [names.isIdentifier]: property.isIdentifier,
    [names.isOwnedByInvokingCompany]: property.profileId === profileId,
    [names.ownerName]: world.profiles.find(({ id }) => id === property.profileId)?.name,
  }))
}

export function describeFrameworks(contract: Contract, world: World): unknown {
  const names = contract.names.frameworks
  return world.frameworks.map(({ id, title }) => ({ [names.id]: id, [names.title]: title }))
}

/** A framework as the tree topics, subtopics, clusters, questions, data points. */
export function describeFramework(contract: Contract, framework: WorldFramework): unknown {
  const names = contract.names.frameworks
  const titled = ({ id, title }: { id: string; title: string }) => ({ [names.id]: id, [names.title]: title })
  return {
    ...titled(framework),
    [names.topics]: framework.topics.map((topic) => ({
      ...titled(topic),
      [names.subtopics]: topic.subtopics.map((subtopic) => ({
        ...titled(subtopic),
        [names.clusters]: subtopic.clusters.map((cluster) => ({
          ...titled(cluster),
          [names.questions]: cluster.questions.map((question) => ({
            ...titled(question),
            [names.dataPoints]: question.dataPoints.map((point) => ({
              ...titled(point),
              ...describeDataPoint(contract, point),
            })),
          })),
        })),
      })),
    })),
  }
}

function describeDataPoint(contract: Contract, point: WorldPoint): Record<string, unknown> {
  const names = contract.names.frameworks
  return {
    [names.valueType]: point.valueType,
    [names.reportingPeriodType]: point.reportingPeriodType,
    [names.unitTypes]: point.unitTypes.map((unitType) => describeUnitType(contract, unitType)),
    ...(point.valueType === 'list' && {
      [names.options]: point.options.map(({ id, title }) => ({ [names.id]: id, [names.title]: title })),
    }),
  }
}

function describeUnitType(contract: Contract, unitType: UnitType): unknown {
  const names = contract.names.unitTypes
  return {
    [names.id]: unitType.id,
    [names.name]: unitType.name,
    [names.units]: unitType.units.map((unit) => ({
      [names.id]: unit.id,
      [names.name]: unit.name,
      [names.abbreviation]: unit.abbreviation,
    })),
  }
}
