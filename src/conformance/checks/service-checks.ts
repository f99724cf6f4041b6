import type { TaskRun } from '../bench.ts'
import { applicationsOf } from '../evidence/applications.ts'
import { customProperties, frameworks, frameworkTrees, groups, unitTypes } from '../evidence/reference-evidence.ts'
import { calculatorPages, otherPages, otherSearchNames, pagesOf, searches } from '../evidence/searches.ts'
import { endOf, listTasks } from '../evidence/task-run.ts'
import { eventsOfTasks } from '../evidence/webhook-evidence.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { writeCalculators } from '../evidence/written-calculators.ts'
import { writeHolders, writeMapping, writeProperties } from '../evidence/written-rest.ts'
import { faultless, judged, notObserved, together } from '../observation.ts'
import { at, isNowhere, isObject, objectsOf } from '../wire-json.ts'
import { type Checks, given, givenEvents, givenHotel, withHotel } from './check.ts'
import { everyChange } from './judge-events.ts'
import { judgeCalculators } from './judge-inputs.ts'
import {
  allAnswer,
  failedRows,
  holdsAll,
  judgeImport,
  judgeNobody,
  judgeOpenSearch,
  judgeQueued,
  judgeSearch,
  judgeWaiting,
  searchEnds,
  searchesToJudge,
  takenSearch,
  workDone,
} from './judge-task.ts'

const frameworksElsewhere = 'where the list of frameworks is is not shown'

/** Specification, introduction and What the service does. */
export const serviceChecks: Checks<'introduction' | 'service'> = {
  'introduction/paths': async (bench) => {
    const answers = [await unitTypes(bench), await listTasks(bench)]
    const { unitTypes: first, tasks } = bench.contract.endpoints
    const below = [first, tasks].every(({ path }) => /^\/api\/v\d+\//.test(path))
    return judged(
      below && answers.every(({ status }) => status === 200),
      `below the base address: ${answers.map(({ call, status }) => `${call} answered ${status}`).join(', ')}`,
    )
  },
  'service/queued': given(searches, (sent, bench) => {
    const all = searchesToJudge(sent)
    const slowest = Math.max(...all.map(({ submitted }) => submitted.ms))
    const queued = holdsAll(
      all.map(judgeQueued),
      `${all.length} searches queued, the slowest answer after ${Math.round(slowest)} ms`,
    )
    return together(queued, judgeWaiting(bench, all))
  }),
  'service/immediate': async (bench) => {
    const list = await frameworks(bench)
    const answers = [
      await unitTypes(bench),
      await groups(bench),
      await customProperties(bench),
      ...(isNowhere(list.status) ? [] : [list]),
    ]
    const { submitted } = bench.contract.names
    const wrong = answers.filter(
      ({ status, json }) => status !== 200 || at(json, submitted.correlationId) !== undefined,
    )
    const faults = wrong.map(({ call, status }) => `${call} answered ${status}`)
    const seen = faultless(
      faults,
      `${answers.map(({ ms }) => `${Math.round(ms)} ms`).join(', ')}, each with its content`,
    )
    return isNowhere(list.status) ? together(seen, notObserved(frameworksElsewhere)) : seen
  },
  'service/workflow': given(searches, async ({ runs }, bench) => {
    const { documents } = await calculatorPages(bench)
    const submitted = together(judgeQueued(runs.calculators), judgeSearch(bench, runs.calculators))
    return together(submitted, judged(documents.length > 0, `downloaded: ${documents.length}`))
  }),
  'service/submit': given(searches, (sent) => judgeQueued(takenSearch(sent, 'companies'))),
  'service/poll': given(searches, ({ runs }) => {
    const pair = [runs.calculators, runs.calculatorsV1]
    const faults = pair.filter((run) => run.task === null).map(endOf)
    return faultless(faults, 'tasks of v1 and v2 requests read at one endpoint until terminal')
  }),
  'service/result': given(searches, async (sent, bench) => {
    const read = await Promise.all(
      [takenSearch(sent, 'companies'), takenSearch(sent, 'standards')].map(async (run) => {
        const { documents } = await pagesOf(bench, run)
        return documents.length > 0 && documents.every(isObject)
      }),
    )
    return judged(
      read.every(Boolean),
      'result files named by finished tasks are JSON documents',
      'a search names no result file, or one that is no JSON object',
    )
  }),
  'service/result-search': searchEnds('calculators'),
  'service/result-file': givenHotel(writeMapping, async (mapping, bench, hotel) => {
    const calculators = await writeCalculators(bench, hotel)
    const parts = [judgeImport(bench, mapping.run, { statuses: workDone, file: true })]
    if (typeof calculators !== 'string') parts.push(judgeCalculators(bench, calculators))
    return together(...parts)
  }),
  'service/result-none': givenHotel(writeAnswers, ({ mixed, badRows }, bench) => {
    const rows = failedRows(bench, mixed.task)
    const end = judgeImport(bench, mixed, { statuses: workDone, file: false })
    return together(end, judged(rows.length === badRows, `${rows.length} of ${badRows} failed rows listed`))
  }),
  'service/push': givenEvents(eventsOfTasks, async (events, bench) => {
    const came = judged(events.length > 0, `${events.length} events of status changes delivered`)
    return together(came, await everyChange(bench))
  }),
  'service/areas': given(searches, async ({ runs }, bench) => {
    const lookup = await unitTypes(bench)
    return together(
      judgeOpenSearch(bench, runs.companies),
      judged(lookup.status === 200, 'lookups answer', `unit types answered ${lookup.status}`),
      (await applicationsOf(bench)).seen,
    )
  }),
  'service/area-mapping': givenHotel(writeMapping, ({ run }, bench) =>
    judgeImport(bench, run, { statuses: workDone, file: true }),
  ),
  'service/area-imports': withHotel(async (bench, hotel) => {
    const answers = await writeAnswers(bench, hotel)
    const properties = await writeProperties(bench, hotel)
    const holders = await writeHolders(bench, hotel)
    const calculators = await writeCalculators(bench, hotel)
    const judge = (run: TaskRun | string) =>
      typeof run === 'string' ? notObserved(run) : judgeImport(bench, run, { statuses: workDone, file: false })
    return together(
      judge(typeof answers === 'string' ? answers : answers.mixed),
      judge(properties),
      typeof calculators === 'string' ? notObserved(calculators) : judgeCalculators(bench, calculators),
      judgeNobody(bench, holders),
    )
  }),
  'service/area-searches': given(searches, async ({ runs }, bench) => {
    const open = [runs.companies, runs.standards, runs.standardHolders, runs.frameworkAnswers]
    for (const search of otherSearchNames) await otherPages(bench, search)
    return together(judgeSearch(bench, runs.calculators), ...open.map((run) => judgeOpenSearch(bench, run)))
  }),
  'service/area-lookups': async (bench) => {
    const list = await frameworks(bench)
    const answers = [
      ...(isNowhere(list.status) ? [] : [list]),
      await groups(bench),
      await unitTypes(bench),
      await customProperties(bench),
    ]
    const trees = await frameworkTrees(bench)
    const counts = answers.map(({ call, json }) => `${objectsOf(json).length} from ${call.split('/').at(-1)}`)
    const seen = allAnswer([...answers, ...trees], counts.join(', '))
    return isNowhere(list.status) ? together(seen, notObserved(frameworksElsewhere)) : seen
  },
  'service/area-certifiers': given(applicationsOf, ({ answer, seen }) =>
    answer === null ? seen : judged(answer.status === 200, `applications answered ${answer.status}`),
  ),
}
