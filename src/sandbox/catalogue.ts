import {
  apiKeys,
  brandProperty,
  customProperties,
  demoGroup,
  groups,
  otherGroup,
  otherIdentifierProperty,
  partnerIdProperty,
  profiles,
  roomsProperty,
} from './catalogue/accounts.ts'
import { calculatorTypes, fieldTypes, outputVariables } from './catalogue/calculator-types.ts'
import { frameworks } from './catalogue/frameworks.ts'
import { resourceFieldTypes, resourceOutputs, resourceRecord } from './catalogue/resource-record.ts'
import { standards } from './catalogue/standards.ts'
import { unitTypes } from './catalogue/unit-types.ts'

/**
 * The sandbox's made-up world: everything that does not depend on the seed, with the same UUIDs in every process.
 * `demo-key` acts as the profile that owns the group, the identifier and the properties named here directly;
 * `other-key` acts as the one that owns `otherGroupId` and `otherCustomIdentifierId`.
 */
export const catalogue = {
  profiles,
  apiKeys,
  unitTypes,
  groups,
  customProperties,
  frameworks,
  standards,
  calculatorTypes,
  fieldTypes,
  outputVariables,
  // With the resource record, which only a world that was seeded with calculators begins with.
  everyCalculatorType: [...calculatorTypes, resourceRecord],
  everyFieldType: [...fieldTypes, ...resourceFieldTypes],
  everyOutputVariable: [...outputVariables, ...resourceOutputs],
  groupId: demoGroup.id,
  customIdentifierId: partnerIdProperty.id,
  brandPropertyId: brandProperty.id,
  roomsPropertyId: roomsProperty.id,
  otherGroupId: otherGroup.id,
  otherCustomIdentifierId: otherIdentifierProperty.id,
} as const
