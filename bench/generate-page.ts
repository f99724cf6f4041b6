import { hash } from 'node:crypto'
import type { Contract } from '../src/exchange/contract.ts'
import { monthName } from '../src/exchange/wire-value.ts'

export type PageOptions = {
  seed: number
  companies: number
  /** Companies of the same seed on the pages before this one; 0 is the default. */
  before?: number
  /** Each company has so many. */
  calculatorsEach?: number
  /** Inputs and outputs together. */
  valuesEach?: number
  /**
   * Share of the companies, spread evenly, whose values are others than on the page of the same seed without this. 0 to
   * 1.
   */
  changed?: number
}

export type GeneratedPage = {
  /** What comes in front of the companies, the lists of names among it. */
  head: string
  /** One after the other, with the commas between them. */
  companies: Iterable<string>
  tail: string
}

const typesOfCalculator = 4
const customProperties = 3
const words = [
  'Hôtel',
  'Ærø',
  'Résidence',
  'Große',
  'Łódź',
  'Plaza',
  'Seaside',
  'Kūrorts',
  'Åsgård',
  'Park',
  '東京',
  'Inn',
]

/**
 * A page of a calculator search, made from a seed: the same bytes for the same options, whatever they are used for.
 * With the defaults a company is some 7.8 kB: 20,000 are 157 MB with 2.52 million values.
 */
export function generatePage(
  { seed, companies, before = 0, calculatorsEach = 7, valuesEach = 18, changed = 0 }: PageOptions,
  contract: Contract,
): GeneratedPage {
  const names = contract.names.calculatorsPage
  const inputs = Math.ceil(valuesEach / 2)
  const idOf = (...place: (string | number)[]) => uuid([seed, ...place].join('/'))
  const properties = Array.from({ length: customProperties }, (_, property) => idOf('property', property))
  const types = Array.from({ length: typesOfCalculator }, (_, type) => ({
    id: idOf('type', type),
    title: ['Carbon footprint', 'Water', 'Waste', 'Energy, Scope 1 & 2'][type] ?? '',
    variables: Array.from({ length: valuesEach }, (__, variable) => idOf('type', type, variable)),
  }))

  function company(index: number): string {
    const random = randomFrom(seed, index + 1)
    const values = isChanged(index, changed) ? randomFrom(seed + 1, index + 1) : randomFrom(seed, -index - 1)
    const given = properties.slice(0, random() % (customProperties + 1))
    return JSON.stringify({
      [names.id]: idOf('company', index),
      [names.name]: `${word(random)} ${word(random)} ${index + 1}`,
      ...(given.length > 0 && {
        [names.fields]: Object.fromEntries(
          given.map((id) => [id, [word(random), String(random() % 1000)].slice(random() % 2)]),
        ),
      }),
      [names.calculators]: Array.from({ length: calculatorsEach }, (_, at) => calculator(index, at, values)),
    })
  }

  /** The first is the year's, of each type; the others are months. */
  function calculator(index: number, at: number, values: () => number): object {
    const type = types[at % types.length]
    if (type === undefined) throw new RangeError('there is no type of calculator')
    const group = (variables: readonly string[], value: (random: () => number) => string) =>
      Object.fromEntries(variables.map((id) => [id, value(values)]))
    return {
      [names.id]: idOf('company', index, at),
      [names.typeId]: type.id,
      [names.title]: type.title,
      [names.period]: {
        [names.year]: 2025,
        ...(at >= types.length && { [names.month]: monthName(1 + ((at - types.length) % 12)) }),
      },
      [names.inputs]: group(type.variables.slice(0, inputs), entered),
      [names.outputs]: group(type.variables.slice(inputs), computed),
    }
  }

  function* all(): Generator<string> {
    for (let at = 0; at < companies; at++) yield `${at === 0 ? '' : ','}${company(before + at)}`
  }

  const named = (list: readonly string[], what: string) =>
    JSON.stringify(list.map((id, at) => ({ [names.id]: id, [names.name]: `${what} ${at + 1}` })))
  const variables = types.flatMap((type) => type.variables)
  return {
    head:
      `{${JSON.stringify(names.customProperties)}:${named(properties, 'Property')},` +
      `${JSON.stringify(names.calculatorVariables)}:${named(variables, 'Variable nº')},` +
      `${JSON.stringify(names.companies)}:[`,
    companies: all(),
    tail: ']}',
  }
}

/** Companies spread evenly over the page, whatever the share. */
function isChanged(index: number, share: number): boolean {
  return Math.floor((index + 1) * share) > Math.floor(index * share)
}

function word(random: () => number): string {
  return words[random() % words.length] ?? ''
}

/** A number as somebody enters one: a text, with up to four decimal places. */
function entered(random: () => number): string {
  const whole = random() % 10 ** (1 + (random() % 5))
  const places = random() % 5
  return places === 0 ? String(whole) : `${whole}.${String(random() % 10 ** places).padStart(places, '0')}`
}

/** A number as it comes out of a computation. */
function computed(random: () => number): string {
  return `${random() % 10 ** (1 + (random() % 5))}.${String(random() % 10 ** 9).padStart(9, '0')}`
}

/** The same for the same text, and another for any other: a page of millions must not have one twice. */
function uuid(text: string): string {
  const hex = hash('sha256', text)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Integers from 0 below 2^32, always the same for the same two numbers (splitmix32). Not for secrets. */
function randomFrom(seed: number, part: number): () => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(part, 0x85ebca6b)) | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
}
