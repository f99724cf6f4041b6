import type { Contract } from '../../exchange/contract.ts'

export type Message = keyof Contract['names']

/**
 * Where names of one message stand in a document: members of an object, those inside its members, and values that are
 * names themselves. The keys are the contract's own, so that a document is walked by whatever the contract spells.
 */
export type Shape = {
  message: Message
  fields: readonly string[]
  /** Those of the fields that may be absent; of the others, every document has each. */
  optional: readonly string[]
  inside: Readonly<Record<string, Shape>>
  /** Values of a field, by the contract's key of the field: keys of the same message. */
  values: Readonly<Record<string, readonly string[]>>
}

/** A shape from the keys of its fields, parted by spaces; a question mark follows those that may be absent. */
export function shape(message: Message, fields: string, more: Partial<Pick<Shape, 'inside' | 'values'>> = {}): Shape {
  const words = fields.split(' ')
  const bare = (word: string) => word.replace(/\?$/, '')
  const optional = words.filter((word) => word.endsWith('?')).map(bare)
  return { message, fields: words.map(bare), optional, inside: more.inside ?? {}, values: more.values ?? {} }
}
