import type { InputComparison, RepairHeldTable, RowComparison } from '../../db/tables/difference-tables.ts'

/** What a comparison found, in a line or two. Pure. */
export function comparisonLine(comparison: InputComparison): string {
  if (comparison.withheld !== null) {
    return `Not compared: ${comparison.withheld}. The differences known are those of an earlier run.`
  }
  const { inputs, absent, different, foreign_values, other_fields } = comparison
  const others = other_fields > 0 ? ` (and ${number(other_fields)} of fields that we never send)` : ''
  const found = `Of ${counted(inputs, 'input')} compared: ${number(absent)} sent and absent, ${number(different)} stored differently; ${number(foreign_values)} there that we never sent${others}`
  const rest: [number, string][] = [
    [comparison.written_differently, 'the same number, written differently'],
    [comparison.unjudged, 'not judged'],
    [comparison.unsettled, 'not compared, because their rows are pending, rejected, on the way or gone'],
    [comparison.left_out_companies, 'companies not compared, because a part of their page was left out'],
  ]
  const also = rest.filter(([amount]) => amount > 0).map(([amount, what]) => `${number(amount)} ${what}`)
  return [found, ...(also.length > 0 ? [also.join('; ')] : [])].join('\n')
}

/** Why the comparison makes a run partial: what the service accepted and does not show as it was sent. Pure. */
export function comparisonRemarks(comparison: InputComparison | null): string[] {
  if (comparison === null) return []
  const { absent, different, new: fresh } = comparison
  if (absent + different === 0) return []
  const found = [
    ...(absent > 0 ? [`${counted(absent, 'input')} sent and accepted, and absent`] : []),
    ...(different > 0 ? [`${counted(different, 'input')} accepted and stored differently`] : []),
  ].join('; ')
  const since =
    fresh === absent + different ? 'all new' : fresh === 0 ? 'all known before' : `${number(fresh)} of them new`
  return [`What came back is not what was sent: ${found} (${since}). nightferry differences lists them.`]
}

/** What is worth knowing of a comparison and needs nobody. Pure. */
export function comparisonNotices(comparison: InputComparison | null): string[] {
  if (comparison === null || comparison.foreign_values === 0) return []
  const { foreign_values, foreign_companies } = comparison
  return [
    `${counted(foreign_values, 'input')} of ${foreign_companies === 1 ? '1 hotel' : `${number(foreign_companies)} hotels`} at the service ${foreign_values === 1 ? 'was' : 'were'} never sent by us: nightferry differences --kind foreign lists ${foreign_values === 1 ? 'it' : 'them'}.`,
  ]
}

function number(count: number): string {
  return count.toLocaleString('en-GB')
}

function counted(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`
}

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
