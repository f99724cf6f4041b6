import { createHash } from 'node:crypto'
import type { OutputVariable } from './catalogue/calculator-types.ts'
import { factorScale, resourceFieldTypes, resourceOutputs } from './catalogue/resource-record.ts'

/** One calculator's variables, as JSON objects of decimal text by variable id. */
type DrawnRecord = { inputs: string; outputs: string }
type DrawnYear = { months: DrawnRecord[]; year: DrawnRecord }

/** Inputs are drawn in tenths, so that every sum and product below stays a whole number that a double holds exactly. */
const inputScale = 1
const productScale = inputScale + factorScale
const quotientScale = 6

/** Smallest and largest amount that a month draws, in the order of the catalogue; the last two are whole numbers. */
const ranges: readonly (readonly [number, number])[] = [
  [9_000, 180_000],
  [200, 30_000],
  [1_000, 60_000],
  [500, 25_000],
  [2_000, 90_000],
  [50, 4_000],
  [20, 1_500],
  [0.1, 9],
  [150, 6_000],
  [10, 900],
  [5, 700],
  [400, 16_000],
  [200, 9_000],
  [100, 5_000],
  [80, 4_000],
  [700, 30_000],
  [600, 40_000],
  [300, 12_000],
]
const wholeFrom = ranges.length - 2

const inputHeads = resourceFieldTypes.map(({ id }) => `"${id}":"`)
const outputPlans = resourceOutputs.map(planOf)

/**
 * The twelve months of a company's resource record and the year that sums them up, for the hotel with this number in
 * the world of this seed. Pure. Whole-number arithmetic on purpose: it gives what `computeOutputs` gives for these
 * inputs, several times faster, and a million calculators are drawn.
 */
export function drawResourceYear(seed: number, number: number): DrawnYear {
  const random = randomFrom(createHash('sha256').update(`resource record ${seed} ${number}`).digest().readUInt32LE(0))
  const size = 0.2 + 0.8 * random()
  const sums = ranges.map(() => 0)
  const months = Array.from({ length: 12 }, () => {
    const tenths = ranges.map(([least, most], at) => {
      const drawn = (least + (most - least) * size * random()) * 10
      return at < wholeFrom ? Math.max(1, Math.floor(drawn)) : 10 * Math.max(1, Math.floor(drawn / 10))
    })
    for (const [at, value] of tenths.entries()) sums[at] = (sums[at] ?? 0) + value
    return record(tenths)
  })
  return { months, year: record(sums) }
}

type OutputPlan = { head: string; terms: { at: number; factor: number }[]; per: number | null }

function planOf({ id, terms, perFieldTypeId }: OutputVariable): OutputPlan {
  const at = (fieldTypeId: string) => resourceFieldTypes.findIndex((field) => field.id === fieldTypeId)
  return {
    head: `"${id}":"`,
    terms: terms.map(({ fieldTypeId, factor }) => ({
      at: at(fieldTypeId),
      factor: Math.round(Number(factor) * 10 ** factorScale),
    })),
    per: perFieldTypeId === null ? null : at(perFieldTypeId),
  }
}

function record(tenths: readonly number[]): DrawnRecord {
  let inputs = ''
  for (const [at, head] of inputHeads.entries()) inputs += `,${head}${decimalText(tenths[at] ?? 0, inputScale)}"`
  let outputs = ''
  for (const { head, terms, per } of outputPlans) {
    let sum = 0
    for (const { at, factor } of terms) sum += (tenths[at] ?? 0) * factor
    const text = per === null ? decimalText(sum, productScale) : quotient(sum, (tenths[per] ?? 0) * 10 ** factorScale)
    outputs += `,${head}${text}"`
  }
  return { inputs: `{${inputs.slice(1)}}`, outputs: `{${outputs.slice(1)}}` }
}

/** Digit by digit, because the product with a million would not fit; the last digit is rounded half up. */
function quotient(dividend: number, divisor: number): string {
  let digits = Math.floor(dividend / divisor)
  let rest = dividend - digits * divisor
  for (let place = 0; place < quotientScale; place += 1) {
    rest *= 10
    const digit = Math.floor(rest / divisor)
    digits = digits * 10 + digit
    rest -= digit * divisor
  }
  return decimalText(2 * rest >= divisor ? digits + 1 : digits, quotientScale)
}

/** Plain decimal text of `units` divided by ten to the power of `scale`, without superfluous zeros. */
function decimalText(units: number, scale: number): string {
  const power = 10 ** scale
  const whole = Math.floor(units / power)
  let fraction = units - whole * power
  if (fraction === 0) return String(whole)
  let places = scale
  while (fraction % 10 === 0) {
    fraction /= 10
    places -= 1
  }
  return `${whole}.${String(fraction).padStart(places, '0')}`
}

/** Numbers from 0 up to 1, the same for the same state (mulberry32). */
function randomFrom(state: number): () => number {
  let at = state
  return () => {
    at = (at + 0x6d2b79f5) | 0
    let mixed = Math.imul(at ^ (at >>> 15), at | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
