/** Exponents beyond this are not worth a sum: no number that is kept comes near. */
const farExponent = 1_000_000

const form = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** How many digits a JSON number has once its exponent is written out; Infinity for one far beyond any use. Pure. */
export function numberDigits(text: string): number {
  const [, whole = '', fraction = '', exponentText = '0'] = form.exec(text) ?? []
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > farExponent) return Infinity
  return Math.max(1, whole.length + exponent) + Math.max(0, fraction.length - exponent)
}
