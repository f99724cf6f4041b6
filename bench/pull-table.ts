/** A table of results, first column to the left and the others to the right: for a person, or as Markdown. */
export function tableOf(head: readonly string[], lines: readonly (readonly string[])[], markdown: boolean): string {
  const all = [head, ...lines]
  const widths = head.map((_, at) => Math.max(...all.map((line) => line[at]?.length ?? 0)))
  const padded = all.map((line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))),
  )
  if (!markdown) return padded.map((line) => `${line.join('  ').trimEnd()}\n`).join('')
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(Math.max(1, width - 1))}:`))
  return [padded[0] ?? [], rule, ...padded.slice(1)].map((line) => `| ${line.join(' | ')} |\n`).join('')
}

/** The middle one, or the mean of the two middle ones. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** `1.23 (1.10–1.40)`: the median, the least and the most; one number is given alone. */
export function spread(numbers: readonly number[], places: number): string {
  if (numbers.length === 0) return ''
  const middle = median(numbers).toFixed(places)
  if (numbers.length === 1) return middle
  return `${middle} (${Math.min(...numbers).toFixed(places)}–${Math.max(...numbers).toFixed(places)})`
}

export function grouped(number: number): string {
  return Math.round(number).toLocaleString('en-GB')
}

export function megabytes(bytes: number): string {
  return `${grouped(bytes / 1e6)} MB`
}
