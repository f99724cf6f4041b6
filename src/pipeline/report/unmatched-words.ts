/** Something that the service said and that matches no row of the request, as it is kept with the submission. */
type Unmatched = Readonly<Record<string, string | number>>

/** What the service said and whom it named, and why that matches nothing, in one line for a person. Pure. */
export function unmatchedWords({ why, code, reason, ...named }: Unmatched): string {
  const names = Object.entries(named).map(([name, value]) => `${name} ${value}`)
  const said = [code, reason].filter((part) => part !== undefined).join(': ')
  const head = [...names, said].filter((part) => part !== '').join(', ')
  return `${head === '' ? 'nothing at all' : head} (${why ?? 'no reason kept'})`
}
