import { type StreamName, streamNames } from '../../config/schema.ts'
import { calculatorInputs } from './calculator-inputs.ts'
import { calculatorSettings } from './calculator-settings.ts'
import { customPropertyValues } from './custom-property-values.ts'
import { frameworkAnswers } from './framework-answers.ts'
import type { KindName } from './kind-names.ts'
import { omissions } from './omissions.ts'
import { properties } from './properties.ts'
import { standardHolders } from './standard-holders.ts'
import type { Stream, StreamShape } from './stream.ts'

/** Every stream of ours, with all that is known of it. */
export const streams: Record<StreamName, Stream> = {
  properties,
  framework_answers: frameworkAnswers,
  omissions,
  calculator_inputs: calculatorInputs,
  calculator_settings: calculatorSettings,
  custom_property_values: customPropertyValues,
  standard_holders: standardHolders,
}

const shapes = new Map<StreamName, StreamShape>(streamNames.map((name) => [name, shapeOfStream(streams[name])]))

function shapeOfStream({ columns, foldedKey, toRow }: Stream): StreamShape {
  return { idColumn: 'partner_id', columns: Object.keys(columns), toRow, ...(foldedKey && { foldedKey }) }
}

/** How the rows of a stream of ours land in the ledger. */
export function ourShape(name: StreamName): StreamShape {
  return shapes.get(name) ?? shapeOfStream(streams[name])
}

/** The streams whose rows travel in requests of a kind, in the order in which a person thinks of them. */
export function streamsCarriedBy(kind: KindName): StreamName[] {
  return streamNames.filter((name) => streams[name].kind === kind)
}
