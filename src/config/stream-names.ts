/** The kinds of row that a partner can deliver, in the order in which a person thinks of them. */
export const streamNames = [
  'properties',
  'framework_answers',
  'omissions',
  'calculator_inputs',
  'calculator_settings',
  'custom_property_values',
  'standard_holders',
] as const
export type StreamName = (typeof streamNames)[number]

/** Whether a stream is one of those above; the others come with a kind of request that the contract file describes. */
export function isOurStream(name: string): name is StreamName {
  return (streamNames as readonly string[]).includes(name)
}
