import fc from 'fast-check'
import { uuid } from './sample-page.ts'

/** JSON text with white space wherever it may stand. */
const space = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  fc.array(fc.constantFrom(' ', '\t', '\n', '\r'), { maxLength: 3 }).map((parts) => parts.join('')),
)

const textParts = [
  ...['a', 'B', '7', 'é', '東', '😀', '\u007f', '\u2028', '\ufeff', "'", '/', '{', '}', '[', ']', ':', ',', ' '],
  ...['\\"', '\\\\', '\\/', '\\n', '\\b', '\\u0063', '\\u00e9', '\\ud83d\\ude00', '\\ud83d', '\\ude00', '\\u0000'],
  ...['\\"companies\\":[{', '"companies":[{'.replaceAll('"', '\\"'), 'companies', '__proto__'],
]
const text = fc
  .oneof(
    { weight: 40, arbitrary: fc.array(fc.constantFrom(...textParts), { maxLength: 6 }) },
    // Longer than what the parser takes in one bite.
    fc.array(fc.constantFrom(...textParts), { minLength: 200, maxLength: 300 }),
  )
  .map((parts) => `"${parts.join('')}"`)
const key = fc.oneof(
  fc
    .constantFrom(
      ...['id', 'name', 'a', 'b', '7', '', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'toJSON'],
      ...['companies', 'calculatorVariables', '\\u0061', 'period', 'inputs'],
    )
    .map((name) => `"${name}"`),
  text,
)
const number = fc.constantFrom(
  '0',
  '-0',
  '7',
  '-1.50',
  '2025',
  '1e999',
  '1E-7',
  '123456789012345678901234567890',
  '0.1',
)
const scalar = fc.oneof(text, number, fc.constantFrom('true', 'false', 'null'))

const listOf = (elements: fc.Arbitrary<string>, maxLength = 4) =>
  fc
    .tuple(fc.array(fc.tuple(space, elements, space), { maxLength }), space)
    .map(([parts, empty]) => `[${parts.map((part) => part.join('')).join(',')}${parts.length === 0 ? empty : ''}]`)
const objectOf = (members: fc.Arbitrary<readonly [string, string][]>) =>
  fc
    .tuple(members, space, space, space)
    .map(
      ([parts, before, between, after]) =>
        `{${parts.map(([name, value]) => `${before}${name}${between}:${after}${value}`).join(`,${after}`)}${before}}`,
    )
const anyObject = (value: fc.Arbitrary<string>) =>
  objectOf(fc.array(fc.tuple(key, value) as fc.Arbitrary<[string, string]>, { maxLength: 4 }))

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, listOf(tie('value')), anyObject(tie('value'))),
}))

/**
 * Members of an object that should have each of `fields`, in any order, sometimes lacks one or has one twice or others.
 */
const members = (fields: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<readonly [string, string][]> => {
  const own = Object.entries(fields).map(([name, values]) =>
    values.map((one) => [`"${name}"`, one] as [string, string]),
  )
  const other = fc.tuple(key, value) as fc.Arbitrary<[string, string]>
  return fc
    .tuple(fc.tuple(...own), fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, fc.array(other, { maxLength: 3 })))
    .chain(([first, more]) => {
      const all = [...first, ...more]
      return fc.oneof(
        { weight: 6, arbitrary: fc.shuffledSubarray(all, { minLength: all.length }) },
        fc.shuffledSubarray(all, { minLength: 0 }),
        fc.shuffledSubarray([...all, ...all.slice(0, 1)], { minLength: all.length }),
      )
    })
}
const or = (usual: fc.Arbitrary<string>) => fc.oneof({ weight: 9, arbitrary: usual }, value)

const id = or(fc.constantFrom('a', 'b', 'c').map((name) => `"${uuid(name)}"`))
const values = or(anyObject(or(text)))
const calculator = objectOf(
  members({
    id,
    typeId: id,
    title: or(text),
    period: or(objectOf(members({ year: or(fc.constantFrom('2025', '1')), month: or(fc.constant('"March"')) }))),
    inputs: values,
    outputs: values,
  }),
)
const company = objectOf(
  members({
    id,
    name: or(text),
    fields: or(anyObject(or(listOf(or(text))))),
    calculators: or(listOf(or(calculator), 3)),
  }),
)
const names = listOf(or(objectOf(members({ id: or(text), name: or(text) }))))

/** A page as text: valid JSON always, a page that is accepted mostly. */
export const pageText = fc
  .tuple(
    space,
    objectOf(members({ companies: listOf(or(company), 4), calculatorVariables: names, customProperties: names })),
    space,
  )
  .map((parts) => parts.join(''))

/** Sizes of the pieces that a body comes in. */
export const pieceSizes = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 12, arbitrary: fc.array(fc.nat(400), { maxLength: 30 }) },
  fc.constant(Array.from({ length: 2_000 }, () => 1)),
)
