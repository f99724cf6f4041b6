/**
 * The name that was probably meant by one that there is not: equal but for case, `_` and `-`, begun alike, or a third
 * of it mistyped at most. Null: none is near. Pure.
 */
export function nearestName(typed: string, names: readonly string[]): string | null {
  const wanted = plain(typed)
  if (wanted === '') return null
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(wanted, plain(name)) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [nearest] = ranked
  return nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? nearest.name : null
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}

/** A name that only stops early is near: units stand at the end. */
function distanceOf(typed: string, name: string): number {
  const begun = typed.length >= 4 && name.startsWith(typed)
  return begun ? 0.5 : editDistance(typed, name)
}

/** How many letters have to be put in, taken out, replaced or swapped with the next (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current[column] = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (same ? 0 : 1),
        swapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = above
    above = current
  }
  return at(above, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
