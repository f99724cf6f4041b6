import type { Bench, TaskRun } from '../bench.ts'
import { searches, searchNames } from '../evidence/searches.ts'
import { addressesIn, endOf, fileAddressIn, isKnownStatus } from '../evidence/task-run.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { writeMapping } from '../evidence/written-rest.ts'
import { anyOf, faultless, holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, isSameId, kindOf, textOf } from '../wire-json.ts'
import { type Checks, given, givenHotel } from './check.ts'
import { failedRows, namesOf, searchesToJudge, workWasDone } from './judge-task.ts'

/** Specification, Resources: the task. */
export const taskChecks: Checks<'task'> = {
  'task/correlation-id': given(searches, (sent, bench) => {
    const { correlationId } = bench.contract.names.task
    const faults = searchesToJudge(sent)
      .filter((run) => !isSameId(at(run.last?.json, correlationId), run.correlationId))
      .map(({ label, last }) => `${label}: ${kindOf(at(last?.json, correlationId))}`)
    return faultless(faults, 'each task names the correlation id that its submission gave')
  }),
  'task/status-and-type': given(searches, ({ runs }, bench) => {
    const { calculatorsSearch, companiesSearch } = bench.contract.taskNames
    const calculators = namesOf(bench, runs.calculators).type
    const companies = namesOf(bench, runs.companies).type
    const kept = calculators === calculatorsSearch.requestType && companies === companiesSearch.requestType
    const types = judged(kept, `request types ${calculators ?? 'none'} and ${companies ?? 'none'}, with a status each`)
    const statuses = new Set(searchNames.flatMap((name) => runs[name].statuses))
    const strange = [...statuses].filter((status) => !isKnownStatus(bench, status))
    const known = faultless(
      strange.map((status) => `${status} is no status of the specification`),
      'statuses of the specification',
    )
    return together(types, known)
  }),
  'task/kind': async (bench) => {
    const { kind } = namesOf(bench, (await searches(bench)).runs.calculators)
    const search = judged(
      kind === bench.contract.taskNames.calculatorsSearch.kind,
      `a search is a ${kind ?? '(no kind)'}`,
    )
    const mapping = await givenHotel(writeMapping, ({ run }) => {
      if (run.task === null) return notObserved(endOf(run))
      const mapped = namesOf(bench, run).kind
      return judged(mapped === bench.contract.taskNames.companyMappings.kind, `mappings are a ${mapped ?? '(no kind)'}`)
    })(bench)
    return together(search, mapping)
  },
  'task/error': givenHotel(writeAnswers, ({ failing, badRows }, bench) => {
    const { reason } = bench.contract.names.rowError
    const rows = failedRows(bench, failing.task)
    const reasoned = rows.filter((row) => textOf(row[reason]) !== null)
    return judged(
      rows.length === badRows && reasoned.length === badRows,
      `${rows.length} rows, ${reasoned.length} with a reason`,
    )
  }),
  'task/result': given(searches, async ({ runs }, bench) => {
    const ofImport = (run: TaskRun, wanted: string) =>
      workWasDone(bench, run) ? judgeResult(bench, run, wanted) : notObserved(endOf(run))
    return anyOf(
      judgeResult(bench, runs.calculators, 'page addresses, no file'),
      await givenHotel(writeMapping, ({ run }) => ofImport(run, 'no page addresses, a file'))(bench),
      await givenHotel(writeAnswers, ({ mixed }) => ofImport(mixed, 'no page addresses, no file'))(bench),
    )
  }),
  'task/open-shape': async (bench) => {
    const { task } = (await searches(bench)).runs.calculators
    return task === null ? notObserved('no task ended') : holds(`members: ${Object.keys(task).join(', ')}`)
  },
}

/** What a finished task must carry, in words: pages, a file or neither. */
function judgeResult(bench: Bench, { task }: TaskRun, wanted: string): Observation {
  const pages = addressesIn(bench, task).length > 0 ? 'page addresses' : 'no page addresses'
  const seen = `${pages}, ${fileAddressIn(bench, task) === null ? 'no file' : 'a file'}`
  return judged(seen === wanted, seen)
}
