import type { RepairHeldTable, RowComparison } from '../../db/tables/row-difference.ts'

const words: Record<string, string> = {
  answers: 'answers and omissions',
  property_values: 'custom property values',
  standard_holders: 'standards held',
  mappings: 'mappings',
}

/** What the rows of a kind are called. */
export function comparedWords(kind: string): string {
  return words[kind] ?? kind
}

/** Why comparisons make a run partial: what the service accepted and does not show as it was sent. Pure. */
export function rowComparisonRemarks(
  comparisons: readonly RowComparison[],
  held: readonly RepairHeldTable[],
): string[] {
  const differing = comparisons.filter(({ absent, different }) => absent + different > 0)
  return [
    ...differing.map(
      ({ kind, absent, different, new: fresh }) =>
        `Of the ${comparedWords(kind)} that the service accepted, ${absent} ${absent === 1 ? 'is' : 'are'} absent and ${different} stored differently (${fresh} new): nightferry differences lists them.`,
    ),
    ...comparisons
      .filter(({ suspicious }) => suspicious)
      .map(({ kind, withheld }) => `The ${comparedWords(kind)} were not compared: ${withheld}.`),
    ...held.map(
      ({ stream, kind, rows }) =>
        `${rows} rows of ${stream} are ${kind} at the service, more than the guard lets through at once, so they are not sent again by themselves: nightferry resend --stream ${stream} --difference ${kind} --beyond-guard sends them.`,
    ),
  ]
}
