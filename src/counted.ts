/** A count as people write it: 1,234. Pure. */
export function grouped(count: number): string {
  return count.toLocaleString('en-GB')
}

/** A count with its noun: 1 page, 1,234 pages, 1 company, 2 companies. Pure. */
export function counted(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`
  return `${grouped(count)} ${noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`
}
