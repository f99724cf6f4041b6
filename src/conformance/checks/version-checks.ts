import { randomUUID } from 'node:crypto'
import { decodeTask } from '../../exchange/task.ts'
import { type Deprecated, deprecated } from '../evidence/deprecated.ts'
import { describedOperation, description, openApiVersion } from '../evidence/description.ts'
import { groups, properties, unitTypes } from '../evidence/reference-evidence.ts'
import { narrowSearches, type Searches, searches } from '../evidence/searches.ts'
import { listTasks } from '../evidence/task-run.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import {
  refusedUpserts,
  writeConsolidated,
  writeDeprecatedAnswers,
  writeDeprecatedMapping,
} from '../evidence/written-rest.ts'
import { anyOf, faultless, holds, judged, notObserved, together } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, isOpenRefusal, isTaken, kindOf, objectsOf, textOf } from '../wire-json.ts'
import { type Check, type Checks, given, givenHotel } from './check.ts'
import { allAccepted, allAnswer, judgeList, judgeOld, refusedAsOpen } from './judge-task.ts'
import { errorBody, ourSide, refusalOf } from './our-side.ts'

/** Specification, Versioning. */
export const versionChecks: Checks<'versioning'> = {
  'versioning/path': given(unitTypes, async (bare, bench) => {
    const headed = await bench.wire.call(bench.contract.endpoints.unitTypes, {
      headers: { 'api-version': '2', 'x-api-version': '99' },
    })
    const same = JSON.stringify(bare.json) === JSON.stringify(headed.json)
    return judged(
      same && headed.status === 200,
      `version headers change nothing (${headed.status})`,
      `with version headers: ${headed.status}, ${same ? 'the same' : 'another'} answer`,
    )
  }),
  'versioning/per-endpoint': given(searches, ({ runs }) => {
    const both = [runs.companies, runs.companiesV1, runs.calculators, runs.calculatorsV1]
    const refused = both.filter((run) => run !== runs.calculators && isOpenRefusal(run.submitted.status))
    return together(
      allAccepted(
        both.filter((run) => !refused.includes(run)),
        'the same searches answer under v1 and v2, reference data under v1',
      ),
      ...refused.map((run) => notObserved(refusedAsOpen(run))),
    )
  }),
  'versioning/new-fields': ourSide(async (bench) => {
    const { task } = (await searches(bench)).runs.calculators
    const plain = decodeTask(bench.contract, task)
    const more = decodeTask(bench.contract, { ...task, aNewField: { of: ['any', 'shape'] } })
    return judged(
      JSON.stringify({ ...plain, raw: 0 }) === JSON.stringify({ ...more, raw: 0 }),
      'a task with an unknown field reads the same',
    )
  }),
  'versioning/new-request-fields': given(narrowSearches, ({ nowhere }) =>
    judged(isTaken(nowhere.submitted.status), 'a search with stated fields alone is accepted'),
  ),
  'versioning/new-endpoints': ourSide((bench) => {
    const known = Object.keys({ ...bench.contract.endpoints, ...bench.contract.otherEndpoints }).length
    return holds(`${known} endpoints are asked by name; others are never looked for`)
  }),
  'versioning/new-codes': ourSide((bench) => {
    const { code } = refusalOf(bench, 409, errorBody(bench, `code_${randomUUID()}`))
    return judged(code === 'exchange_refused', `an unknown code with 409 counts as ${code}`)
  }),
  'versioning/new-wording': ourSide((bench) => {
    const [first, second] = ['one', 'another'].map(
      (message) => refusalOf(bench, 404, { ...errorBody(bench, 'gone'), message }).code,
    )
    return judged(first === second, `other wording counts as ${second}`)
  }),
  'versioning/keeps-endpoints': async (bench) => {
    const reads = [await unitTypes(bench), await groups(bench), await listTasks(bench)]
    const sent = Object.values((await searches(bench)).runs).map(({ submitted }) => submitted)
    // A refusal of a body that is not shown is an answer, too.
    const answers = [...reads, ...sent.filter(({ status }) => !isOpenRefusal(status))]
    return allAnswer(answers, `${reads.length + sent.length} endpoints answer at their stated paths`)
  },
  'versioning/keeps-fields': given(searches, ({ runs }, bench) => {
    const names = bench.contract.names.task
    const isRight: [string, (value: unknown) => boolean][] = [
      [names.status, (value) => textOf(value) !== null],
      [names.requestType, (value) => textOf(value) !== null],
      [names.pageUrls, Array.isArray],
    ]
    const faults = isRight.flatMap(([name, isOfType]) => {
      const value = at(runs.calculators.last?.json, name)
      return isOfType(value) ? [] : [`${name} of a finished search is ${kindOf(value)}`]
    })
    return faultless(faults, 'the stated fields of a task are there, of their types')
  }),
  'versioning/keeps-optional': given(narrowSearches, async ({ nowhere }, bench) => {
    const { status } = nowhere.submitted
    const seen = `a search without property ids answered ${status}`
    const searched = isOpenRefusal(status) ? notObserved(seen) : judged(isTaken(status), seen)
    const answered = await givenHotel(writeAnswers, ({ withoutFramework: { submitted } }) =>
      judged(isTaken(submitted.status), `answers without a framework answered ${submitted.status}`),
    )(bench)
    return anyOf(searched, answered)
  }),
  'versioning/keeps-codes': async (bench) => {
    const codeOf = ({ json }: Answer) => textOf(at(json, bench.contract.names.error.errorCode))
    const judge = (answers: readonly Answer[], what: string) => {
      const codes = answers.map(codeOf)
      return judged(
        codes[0] !== null && codes[0] === codes[1],
        `${what}, twice: ${codes.map((code) => code ?? 'no code').join(', ')}`,
      )
    }
    const unknown = () => bench.wire.call(bench.contract.endpoints.task, { id: randomUUID() })
    const tasks = judge([await unknown(), await unknown()], 'a task that is unknown')
    const upserts = await givenHotel(refusedUpserts, ({ noGroup, again }) =>
      judge([noGroup, again], 'a calculator upsert without its group'),
    )(bench)
    return anyOf(tasks, upserts)
  },
  'versioning/deprecation': given(description, async ({ json }, bench) => {
    const { calculatorsV1 } = (await searches(bench)).runs
    const { otherEndpoints } = bench.contract
    const documented = Object.entries(otherEndpoints).filter(
      ([name, endpoint]) => name.endsWith('V1') && describedOperation(json, endpoint) !== undefined,
    )
    return together(
      judgeOld(bench, calculatorsV1),
      openApiVersion(json) === null
        ? notObserved('no OpenAPI description was seen')
        : faultless(
            documented.map(([, { path }]) => `${path} is still documented`),
            'none is documented',
          ),
    )
  }),
  'versioning/deprecated/companies-search': oldSearch('companiesV1'),
  'versioning/deprecated/companies-latest-file': oldRead(({ latest }) => latest.companies),
  'versioning/deprecated/standards-search': oldSearch('standardsV1'),
  'versioning/deprecated/standards-latest-file': oldRead(({ latest }) => latest.standards),
  'versioning/deprecated/framework-answers-search': oldSearch('frameworkAnswersV1'),
  'versioning/deprecated/calculators-search': oldSearch('calculatorsV1'),
  'versioning/deprecated/performance-answers-upsert': givenHotel(writeDeprecatedAnswers, (run, bench) =>
    judgeOld(bench, run),
  ),
  'versioning/deprecated/consolidated-upsert': givenHotel(writeConsolidated, (run, bench) => judgeOld(bench, run)),
  'versioning/deprecated/companies-upsert': givenHotel(writeDeprecatedMapping, (run, bench) => judgeOld(bench, run)),
  'versioning/deprecated/status': oldRead(({ status }) => status),
  'versioning/deprecated/custom-identifiers': given(deprecated, async ({ customIdentifiers }, bench) => {
    const { id } = bench.contract.names.customProperties
    const listed = objectsOf(customIdentifiers.json).map((record) => record[id])
    const identifiers = (await properties(bench)).filter(({ isIdentifier }) => isIdentifier)
    const own = identifiers.filter(({ saysOwned }) => saysOwned)
    const missing = own.filter((property) => !listed.includes(property.id))
    const others = listed.filter((one) => !identifiers.some((property) => property.id === one))
    // Whether it lists those of other profiles as well is not shown.
    return together(
      judgeList(customIdentifiers),
      judged(others.length === 0, `${others.length} that are no identifiers`),
      own.length === 0
        ? notObserved('no identifier is known to be of the profile')
        : judged(missing.length === 0, `${own.length - missing.length} of ${own.length} identifiers of the profile`),
    )
  }),
  'versioning/description': given(description, ({ status, json }, bench) => {
    const version = openApiVersion(json)
    // Where the paths are that the specification does not show is seen by the names that are open.
    const stated = Object.values(bench.contract.endpoints).filter(({ source }) => source === 'stated')
    const missing = stated.filter((endpoint) => describedOperation(json, endpoint) === undefined)
    if (version === null)
      return notObserved(`${bench.contract.otherEndpoints.description.path} answered ${status}: ${kindOf(json)}`)
    return faultless(
      missing.map(({ method, path }) => `${method} ${path} is not in it`),
      `OpenAPI ${version}, with all ${stated.length} endpoints that are stated`,
    )
  }),
}

function oldSearch(name: keyof Searches['runs']): Check {
  return given(searches, ({ runs }, bench) => judgeOld(bench, runs[name]))
}

/** That it is answered is all that is said of a deprecated read. */
function oldRead(which: (all: Deprecated) => Answer): Check {
  return given(deprecated, (all) => {
    const { status, json } = which(all)
    const seen = `${status}: ${kindOf(json)}`
    return isOpenRefusal(status) ? notObserved(seen) : judged(isTaken(status), seen)
  })
}
