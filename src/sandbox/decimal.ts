/** An exact decimal number: `units` divided by ten to the power of `scale`. */
export type Decimal = { units: bigint; scale: number }

export const zero: Decimal = { units: 0n, scale: 0 }

/**
 * Reads plain decimal text: digits, an optional fraction, an optional minus. Null for anything else, exponents
 * included.
 */
export function parseDecimal(text: string): Decimal | null {
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(text)
  if (!match) return null
  const fraction = match[2] ?? ''
  return { units: BigInt(`${match[1] ?? '0'}${fraction}`), scale: fraction.length }
}

export function add(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale)
  return { units: at(left, scale) + at(right, scale), scale }
}

export function multiply(left: Decimal, right: Decimal): Decimal {
  return { units: left.units * right.units, scale: left.scale + right.scale }
}

/** `left` over positive `right`, rounded to `scale` decimals; a half is rounded away from zero. */
export function divide(left: Decimal, right: Decimal, scale: number): Decimal {
  const common = Math.max(left.scale, right.scale)
  const numerator = at(left, common) * 10n ** BigInt(scale)
  const denominator = at(right, common)
  const half = numerator < 0n ? -denominator : denominator
  return { units: (2n * numerator + half) / (2n * denominator), scale }
}

/** Plain decimal text without superfluous zeros. */
export function formatDecimal({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

function at({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale)
}
