import { instantOf } from '../../exchange/wire-value.ts'
import type { Bench } from '../bench.ts'
import { reportOf } from '../evidence/administration.ts'
import { searches, searchNames } from '../evidence/searches.ts'
import { endOf, fileAddressIn, isTerminal } from '../evidence/task-run.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { largeMapping, writeMapping } from '../evidence/written-rest.ts'
import { faultless, holds, judged, notObserved, together } from '../observation.ts'
import { at, objectsOf } from '../wire-json.ts'
import { type Checks, given, givenHotel } from './check.ts'
import { failedRows, judgeQueued, searchesToJudge, takenSearch } from './judge-task.ts'

/** Specification, rules of processing. */
export const processingChecks: Checks<'processing-rules'> = {
  'processing-rules/1': given(searches, ({ snapshots, runs }, bench) => {
    const { createdAt } = bench.contract.names.task
    const created = searchNames.flatMap((name) => instantOf(at(runs[name].task, createdAt)) ?? [])
    const ordered = created.every((time, index) => index === 0 || time >= (created[index - 1] ?? time))
    const told = `${created.length} of ${searchNames.length} tasks say when they were created`
    const overtaken = snapshots.flatMap(({ statuses }) => overtaking(bench, statuses))
    const seen = `${snapshots.length} looks at ${searchNames.length} tasks: none picked up before an earlier one`
    return together(
      faultless(overtaken, seen),
      judged(ordered, `${told}, in the order sent`, `${told}, in another order than sent: ${timesOf(created)}`),
    )
  }),
  'processing-rules/2': given(searches, (sent, bench) => {
    const { runs, snapshots } = sent
    const toJudge = searchesToJudge(sent)
    const ended = searchNames.filter((name) => runs[name].task !== null)
    const running = Math.max(
      0,
      ...snapshots.map(({ statuses }) => statuses.filter((status) => !isTerminal(bench, status)).length),
    )
    const order = ended.toSorted((a, b) => (runs[a].endedAt ?? 0) - (runs[b].endedAt ?? 0))
    const places = order.map((name) => searchNames.indexOf(name) + 1).join(' ')
    return judged(
      toJudge.every(({ task }) => task !== null),
      `up to ${running} in flight at once, seen to end in the order ${places}`,
    )
  }),
  'processing-rules/3': givenHotel(writeMapping, async ({ run }, bench, hotel) => {
    const answers = await writeAnswers(bench, hotel)
    if (typeof answers === 'string') return holds(`our side: nothing depends on the mapping (${answers})`)
    const waited = run.endedAt !== null && answers.mixed.startedAt >= run.endedAt
    return judged(
      waited,
      'our side: answers sent after the mapping was terminal',
      'our side: the mapping did not end before answers were sent',
    )
  }),
  'processing-rules/4': given(searches, async (sent, bench) => {
    const large = givenHotel(largeMapping, (run) =>
      judged(run.task !== null, `30,000 entries in one request: ${endOf(run)}`),
    )
    return together(judgeQueued(takenSearch(sent, 'standards')), await large(bench))
  }),
  'processing-rules/5': givenHotel(writeAnswers, ({ mixed }, bench) => {
    const failed = failedRows(bench, mixed.task).length
    return judged(mixed.task !== null && failed > 0, `${endOf(mixed)} with ${failed} failed rows`)
  }),
  'processing-rules/6': async (bench) => {
    const rows = await givenHotel(writeAnswers, ({ mixed, failing, badRows }) => {
      const counts = [mixed, failing].map((run) => failedRows(bench, run.task).length)
      return judged(
        counts.every((count) => count === badRows),
        `${counts.join(' and ')} failed rows listed`,
      )
    })(bench)
    const file = await givenHotel(writeMapping, ({ run, file }) => {
      const entries = objectsOf(at(file, bench.contract.names.companyMappingsResult.companies))
      const seen = `${entries.length} outcomes in the file`
      // Whether a file lists what matches nothing is not shown.
      return entries.length === 1
        ? notObserved(seen)
        : judged(entries.length === 2 && fileAddressIn(bench, run.task) !== null, seen)
    })(bench)
    return together(rows, file, await reportOf(bench))
  },
  'processing-rules/7': given(searches, ({ runs }, bench) => {
    const gaps = searchNames.flatMap((name) =>
      runs[name].looks.slice(2).map((time, at) => time - (runs[name].looks[at + 1] ?? 0)),
    )
    const shortest = gaps.length === 0 ? bench.limits.pollMs : Math.min(...gaps)
    const kept = shortest >= bench.limits.pollMs - 2
    return judged(kept, `our side: ${Math.round(shortest)} ms at least between polls of one task`)
  }),
}

function timesOf(instants: readonly Date[]): string {
  return instants.map((instant) => instant.toISOString()).join(', ')
}

/**
 * Tasks that were picked up while an earlier one of the same key was not. Which move picks a task up is not shown: one
 * that is no longer Pending may have been.
 */
function overtaking({ contract }: Pick<Bench, 'contract'>, statuses: readonly (string | null)[]): string[] {
  const { pending, cancelled } = contract.taskStatuses
  const first = statuses.indexOf(pending)
  if (first < 0) return []
  return statuses.flatMap((status, index) =>
    index > first && status !== null && status !== pending && status !== cancelled
      ? [`number ${index + 1} was ${status} while number ${first + 1} was ${statuses[first]}`]
      : [],
  )
}
