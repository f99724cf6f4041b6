import { randomUUID } from 'node:crypto'
import { applicationsOf } from '../evidence/applications.ts'
import { cancelling, wasCancelled, wasRefusedWhileWaiting } from '../evidence/cancelling.ts'
import { deprecated } from '../evidence/deprecated.ts'
import {
  customProperties,
  frameworks,
  frameworkTrees,
  groups,
  properties,
  questionTrees,
  unitTypes,
} from '../evidence/reference-evidence.ts'
import {
  otherPages,
  otherSearchNames,
  type Searches,
  type Snapshot,
  searches,
  searchNames,
} from '../evidence/searches.ts'
import { isTerminal, listTasks } from '../evidence/task-run.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { writeCalculators } from '../evidence/written-calculators.ts'
import {
  refusedUpserts,
  tooManyAnswers,
  writeHolders,
  writeMapping,
  writeProperties,
} from '../evidence/written-rest.ts'
import { differs, faultless, holds, judged, notObserved, type Observation, together } from '../observation.ts'
import { at, isObject, isTaken, kindOf, objectsOf, textOf } from '../wire-json.ts'
import { type Checks, given, givenHotel, withHotel } from './check.ts'
import { judgeCalculators } from './judge-inputs.ts'
import {
  allAccepted,
  allAnswer,
  failedRows,
  judgeImport,
  judgeList,
  judgeStatus,
  judgeTooMany,
  searchEnds,
  takenSearch,
  workDone,
} from './judge-task.ts'

/** Specification, Endpoints. */
export const endpointChecks: Checks<'endpoints'> = {
  'endpoints/conventions': given(searches, async (sent, bench) => {
    const { status } = takenSearch(sent, 'standards').submitted
    const read = await unitTypes(bench)
    return judged(
      read.status === 200 && isTaken(status),
      `key accepted (${read.status}), JSON body accepted (${status})`,
    )
  }),
  'endpoints/company-mappings': givenHotel(writeMapping, ({ run, file }, bench) => {
    const end = judgeImport(bench, run, { statuses: workDone, file: true })
    return together(judgeStatus(run), end, judged(isObject(file), `the file is ${kindOf(file)}`))
  }),
  'endpoints/framework-answers-upsert': givenHotel(writeAnswers, async ({ mixed, badRows }, bench, hotel) => {
    const tooMany = await tooManyAnswers(bench, hotel)
    return together(
      judgeImport(bench, mixed, { statuses: workDone, file: false }),
      judged(
        failedRows(bench, mixed.task).length === badRows,
        `${failedRows(bench, mixed.task).length} failed rows of ${badRows}`,
      ),
      judgeTooMany(bench, tooMany),
    )
  }),
  'endpoints/calculators-upsert': givenHotel(writeCalculators, async (written, bench, hotel) => {
    const { run, file, isRefusedGuess } = written
    const { noGroup, noIdentifier, foreignGroup, foreignIdentifier } = await refusedUpserts(bench, hotel)
    const refused = [noGroup, noIdentifier, foreignGroup, foreignIdentifier].map(({ status }) => status)
    const entries = objectsOf(at(file, bench.contract.names.calculatorsResult.companies))
    return together(
      ...(isRefusedGuess && !isTaken(run.submitted.status) ? [] : [judgeStatus(run)]),
      judgeCalculators(bench, written),
      ...(isRefusedGuess && file === null
        ? []
        : [judged(entries.length === 2, `${entries.length} companies in the file`)]),
      judged(refused.join() === '400,400,403,403', `refused with ${refused.join(', ')}`),
    )
  }),
  'endpoints/calculators-search': searchEnds('calculators'),
  'endpoints/open-calculators-search': given(searches, ({ runs }) =>
    judged(isTaken(runs.calculators.submitted.status), 'a body with these two fields alone is enough'),
  ),
  'endpoints/task': async (bench) => {
    const { last, task } = (await searches(bench)).runs.calculators
    const names = bench.contract.names.task
    const missing = [names.status, names.requestType].filter((name) => at(task, name) === undefined)
    const found = faultless(
      missing.map((name) => `without ${name}`),
      `${last?.status ?? 'no answer'} with ${kindOf(last?.json)}`,
    )
    const unknown = await bench.wire.call(bench.contract.endpoints.task, { id: randomUUID() })
    bench.note('error', unknown.json)
    const asTask = unknown.status < 300 && isObject(unknown.json) ? textOf(unknown.json[names.status]) : null
    const shown = asTask === null ? '' : `, as a task in ${asTask}`
    // Error responses of this endpoint are not shown; that it knows no such task has to be told somehow.
    return together(found, judged(asTask === null, `an unknown task answered ${unknown.status}${shown}`))
  },
  'endpoints/open-task': given(searches, ({ runs: { calculators } }) =>
    calculators.task === null ? notObserved('no task ended') : holds(Object.keys(calculators.task).join(', ')),
  ),
  'endpoints/tasks': given(searches, async ({ runs, snapshots }, bench) => {
    const { status, json } = await listTasks(bench)
    return together(
      judged(status === 200, `${status} with ${objectsOf(json).length} tasks`),
      judgeNewest(runs, snapshots),
    )
  }),
  'endpoints/open-tasks': given(listTasks, ({ json }) => {
    const [first] = objectsOf(json)
    return Array.isArray(json)
      ? holds(`${json.length} listed; each: ${Object.keys(first ?? {}).join(', ')}`)
      : judged(false, `the list is ${kindOf(json)}`)
  }),
  'endpoints/cancel': given(cancelling, (seen, bench) => {
    const text = `${seen.answer.call} answered ${seen.answer.status}, the task ended ${seen.run.statuses.at(-1) ?? 'unseen'}`
    if (wasCancelled(bench, seen)) return holds(text)
    if (seen.answer.status === 429) return notObserved(`${text}: too many calls`)
    if (wasRefusedWhileWaiting(bench, seen)) return differs(`${text}; it was ${seen.refusedAs} after the refusal`)
    return isTerminal(bench, seen.run.statuses.at(-1)) && seen.answer.status >= 400 && seen.answer.status !== 404
      ? notObserved(`${text}: perhaps it had started`)
      : judged(false, text)
  }),
  'endpoints/open-cancel': given(cancelling, ({ answer }) =>
    judged(![404, 405, 501].includes(answer.status), `${answer.call} answered ${answer.status}`),
  ),
  'endpoints/unit-types': given(unitTypes, judgeList),
  'endpoints/framework': given(frameworkTrees, async (trees, bench) => {
    if (trees.length === 0) return notObserved('no framework is known to ask for')
    const points = (await questionTrees(bench)).flatMap(({ dataPoints }) => dataPoints)
    const lists = points.filter(
      ({ valueType, optionIds }) => valueType.toLowerCase() === 'list' || optionIds.length > 0,
    )
    const status = trees.map((tree) => tree.status)
    return together(
      judged(
        status.every((one) => one === 200),
        `${status.join(', ')}: ${points.length} data points`,
      ),
      lists.length === 0
        ? notObserved('no data point is answered by a list')
        : faultless(
            lists.filter(({ optionIds }) => optionIds.length === 0).map(({ id }) => `${id} has no options`),
            `${lists.length} of them with options`,
          ),
    )
  }),
  'endpoints/groups': given(groups, judgeList),
  'endpoints/custom-properties': given(properties, async (list, bench) => {
    const identifiers = list.filter(({ isIdentifier }) => isIdentifier).length
    const answer = await customProperties(bench)
    const { isIdentifier: name } = bench.contract.names.customProperties
    const without = objectsOf(answer.json).filter((record) => typeof record[name] !== 'boolean')
    return together(
      judgeList(answer),
      faultless(
        without.map((record) => `${kindOf(record)} does not say whether it is one`),
        `each says ${name}`,
      ),
      identifiers === 0
        ? notObserved('no custom property is an identifier yet')
        : holds(`${identifiers} can be identifiers`),
    )
  }),
  'endpoints/open-frameworks': given(frameworks, judgeList),
  'endpoints/open-named-later': async (bench) => {
    const bodies: string[] = []
    for (const search of otherSearchNames) {
      const { documents } = await otherPages(bench, search)
      bodies.push(`${search}: ${documents.length === 0 ? 'no page' : kindOf(documents[0])}`)
    }
    const upserts = await withHotel(async (_bench, hotel) => {
      const written = await writeProperties(bench, hotel)
      const holders = await writeHolders(bench, hotel)
      const statuses = [holders, ...(typeof written === 'string' ? [] : [written])].map(
        ({ submitted }) => submitted.status,
      )
      return judged(statuses.every(isTaken), `upserts with our names answered ${statuses.join(', ')}`)
    })(bench)
    return together(holds(bodies.join('; ')), upserts)
  },
  'endpoints/open-applications': given(applicationsOf, ({ answer, seen }) =>
    answer === null
      ? seen
      : judged(
          answer.status === 200 && Array.isArray(answer.json),
          `${answer.call} answered ${answer.status}: ${kindOf(answer.json)}`,
        ),
  ),
  'endpoints/open-submitted': given(searches, ({ runs }, bench) => {
    const { json } = runs.calculators.submitted
    const { correlationId } = bench.contract.names.submitted
    return judged(textOf(at(json, correlationId)) !== null, `the answer is ${kindOf(json)}`)
  }),
  'endpoints/open-requests': givenHotel(writeMapping, async (mapping, bench, hotel) => {
    const answers = await writeAnswers(bench, hotel)
    const runs = [mapping.run, ...(typeof answers === 'string' ? [] : [answers.mixed])]
    return allAccepted(runs, 'bodies with our names are accepted, and what they said came back')
  }),
  'endpoints/deprecated': given(deprecated, ({ latest, status, customIdentifiers }) => {
    const answers = [...Object.values(latest), status, customIdentifiers]
    return allAnswer(answers, `${answers.length} deprecated reads answer`)
  }),
}

/**
 * Whether the newest tasks are listed right after the last submission, and still when all have ended: an end is a
 * status like others. Where none is left of ours in a list that is no shorter, newer ones of others have come.
 */
function judgeNewest(runs: Searches['runs'], snapshots: readonly Snapshot[]): Observation {
  const [first, last] = [snapshots[0], snapshots.at(-1)]
  if (first === undefined || last === undefined)
    return notObserved('the list was refused while searches were under way')
  const pushedOut = last.listed >= first.listed && last.statuses.every((status) => status === null)
  return together(
    ...(pushedOut || last === first ? [first] : [first, last]).map((snapshot) => judgeSnapshot(runs, snapshot)),
  )
}

/**
 * How many tasks are listed is not shown. The newest ones are listed when the last of them is, and all that came after
 * one that is.
 */
function judgeSnapshot(runs: Searches['runs'], { statuses }: Snapshot): Observation {
  const sent = searchNames
    .map((name, nth) => ({ ...runs[name], listed: statuses[nth] ?? null }))
    .filter(({ correlationId }) => correlationId !== null)
  const first = sent.findIndex(({ listed }) => listed !== null)
  const leftOut = sent.slice(first < 0 ? -1 : first).filter(({ listed }) => listed === null)
  if (sent.length === 0) return notObserved('no search was queued')
  return faultless(
    leftOut.map(({ label }) => `the task of ${label} is not in it with a status`),
    `the newest ${sent.length - first} of ours, each with a status`,
  )
}
