import { randomUUID } from 'node:crypto'
import { decodeTask } from '../../exchange/task.ts'
import type { Bench } from '../bench.ts'
import { type Deprecated, deprecated } from '../evidence/deprecated.ts'
import { describedOperation, description, openApiVersion } from '../evidence/description.ts'
import { frameworks, groups, properties, unitTypes } from '../evidence/reference-evidence.ts'
import { narrowSearches, searches } from '../evidence/searches.ts'
import { listTasks } from '../evidence/task-run.ts'
import { writeConsolidated, writeDeprecatedAnswers, writeDeprecatedMapping } from '../evidence/written-rest.ts'
import { faultless, holds, judged, notObserved, together } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, isTaken, kindOf, objectsOf, textOf } from '../wire-json.ts'
import { type Check, type Checks, given, givenHotel } from './check.ts'
import {
  allAccepted,
  allAnswer,
  judgeImport,
  judgeList,
  judgeNobody,
  judgeSearch,
  searchEnds,
  workDone,
} from './judge-task.ts'
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
    return allAccepted(both, 'the same searches answer under v1 and v2, reference data under v1')
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
  'versioning/new-request-fields': given(narrowSearches, ({ oneType, nowhere }) =>
    judged(isTaken((oneType ?? nowhere).submitted.status), 'a search with stated fields alone is accepted'),
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
    const reads = [await unitTypes(bench), await groups(bench), await frameworks(bench), await listTasks(bench)]
    const { runs } = await searches(bench)
    const answers = [...reads, ...Object.values(runs).map(({ submitted }) => submitted)]
    return allAnswer(answers, `${answers.length} endpoints answer at their stated paths`)
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
  'versioning/keeps-optional': given(searches, ({ runs }) => {
    const statuses = [runs.standards, runs.standardHolders].map(({ submitted }) => submitted.status)
    return judged(statuses.every(isTaken), `searches without any field answered ${statuses.join(', ')}`)
  }),
  'versioning/keeps-codes': async (bench) => {
    const ask = () => bench.wire.call(bench.contract.endpoints.unitTypes, { key: null })
    const codes = [await ask(), await ask()].map(({ json }) => textOf(at(json, bench.contract.names.error.errorCode)))
    return judged(
      codes[0] !== null && codes[0] === codes[1],
      `a call without a key, twice: ${codes.map((code) => code ?? 'no code').join(', ')}`,
    )
  },
  'versioning/deprecation': given(description, async ({ json }, bench) => {
    const { calculatorsV1 } = (await searches(bench)).runs
    const { otherEndpoints } = bench.contract
    const documented = Object.entries(otherEndpoints).filter(
      ([name, endpoint]) => name.endsWith('V1') && describedOperation(json, endpoint) !== undefined,
    )
    return together(
      judgeSearch(bench, calculatorsV1),
      openApiVersion(json) === null
        ? notObserved('no OpenAPI description was seen')
        : faultless(
            documented.map(([, { path }]) => `${path} is still documented`),
            'none is documented',
          ),
    )
  }),
  'versioning/deprecated/companies-search': searchEnds('companiesV1'),
  'versioning/deprecated/companies-latest-file': oldRead(
    ({ latest }) => latest.companies,
    (bench, { json }) => pages(bench, json),
  ),
  'versioning/deprecated/standards-search': searchEnds('standardsV1'),
  'versioning/deprecated/standards-latest-file': oldRead(
    ({ latest }) => latest.standards,
    (bench, { json }) => pages(bench, json),
  ),
  'versioning/deprecated/framework-answers-search': searchEnds('frameworkAnswersV1'),
  'versioning/deprecated/calculators-search': searchEnds('calculatorsV1'),
  'versioning/deprecated/performance-answers-upsert': givenHotel(writeDeprecatedAnswers, (run, bench) =>
    judgeImport(bench, run, { statuses: workDone, file: false }),
  ),
  'versioning/deprecated/consolidated-upsert': givenHotel(writeConsolidated, ({ run, hasGoodRows }, bench) =>
    hasGoodRows ? judgeImport(bench, run, { statuses: workDone, file: false }) : judgeNobody(bench, run),
  ),
  'versioning/deprecated/companies-upsert': givenHotel(writeDeprecatedMapping, (run, bench) =>
    judgeImport(bench, run, { statuses: workDone, file: true }),
  ),
  'versioning/deprecated/status': oldRead(
    ({ status }) => status,
    (bench, { json }) => textOf(at(json, bench.contract.names.task.status)),
  ),
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
    const { endpoints } = bench.contract
    const missing = Object.values(endpoints).filter((endpoint) => describedOperation(json, endpoint) === undefined)
    if (version === null)
      return notObserved(`${bench.contract.otherEndpoints.description.path} answered ${status}: ${kindOf(json)}`)
    return faultless(
      missing.map(({ method, path }) => `${method} ${path} is not in it`),
      `OpenAPI ${version}, with all ${Object.keys(endpoints).length} endpoints in use`,
    )
  }),
}

function oldRead(which: (all: Deprecated) => Answer, found: (bench: Bench, answer: Answer) => string | null): Check {
  return given(deprecated, (all, bench) => {
    const answer = which(all)
    const seen = found(bench, answer)
    return judged(answer.status === 200 && seen !== null, `${answer.status}: ${seen ?? kindOf(answer.json)}`)
  })
}

function pages({ contract }: Pick<Bench, 'contract'>, json: unknown): string | null {
  const list = at(json, contract.names.latestFile.pageUrls)
  return Array.isArray(list) && list.length > 0 ? `${list.length} page addresses` : null
}
