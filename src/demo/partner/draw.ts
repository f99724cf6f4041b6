/** What a draw is for and which thing it concerns: `('reading', 17, 3)`. */
export type DrawKeys = readonly [purpose: string, ...numbers: number[]]

/**
 * A number in [0, 1) that depends on nothing but the seed and the keys, so that any row of the demo can be made without
 * making those before it. Not for secrets: 32 bits, mixed as MurmurHash3 does.
 */
export function draw(seed: number, ...[purpose, ...numbers]: DrawKeys): number {
  let hash = scramble(seed)
  for (let index = 0; index < purpose.length; index++) hash = scramble(hash ^ purpose.charCodeAt(index))
  for (const number of numbers) hash = scramble(hash ^ number)
  return hash / 0x1_0000_0000
}

/** A whole number from `least` to `most`, both included. */
export function drawInteger(least: number, most: number, seed: number, ...keys: DrawKeys): number {
  return least + Math.floor(draw(seed, ...keys) * (most - least + 1))
}

/** One of the choices, each as likely as the others. */
export function drawOne<T>(choices: readonly T[], seed: number, ...keys: DrawKeys): T {
  const chosen = choices[drawInteger(0, choices.length - 1, seed, ...keys)]
  if (chosen === undefined) throw new RangeError(`Nothing to choose from for ${keys.join(' ')}`)
  return chosen
}

/** `count` of the choices, or all if there are fewer, in an order that the seed decides. */
export function drawSome<T>(choices: readonly T[], count: number, seed: number, ...keys: DrawKeys): T[] {
  return choices
    .map((choice, index) => ({ choice, rank: draw(seed, ...keys, index) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ choice }) => choice)
}

function scramble(value: number): number {
  let hash = Math.imul((value + 0x9e3779b9) ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
