import { InvalidArgumentError } from 'commander'

/** A reader of whole numbers from `min` to `max` for an option. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`A whole number from ${min} to ${max} is wanted.`)
  }
}

/** Reads a number from 0 to 1 for an option. */
export function fraction(text: string): number {
  const value = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && value <= 1) return value
  throw new InvalidArgumentError('A number from 0 to 1 is wanted.')
}

/**
 * Collects an option that may be given several times, one value each: an option that takes several at once would take
 * the arguments of the verb too.
 */
export function repeated(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
