import { randomUUID } from 'node:crypto'
import type { Bench } from '../bench.ts'
import { endOf } from '../evidence/task-run.ts'
import { webhookRules } from '../evidence/webhook-rules.ts'
import { silentTrial, trials } from '../evidence/webhook-trials.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { refusedUpserts, writeMapping } from '../evidence/written-rest.ts'
import { faultless, holds, judged, notObserved, together } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, isNowhere, kindOf, objectsOf, said, textOf } from '../wire-json.ts'
import { type Checks, given, givenEvents, givenHotel } from './check.ts'
import { failedRows } from './judge-task.ts'
import { errorBody, ourSide, refusalOf } from './our-side.ts'
import { notRefused } from './webhook-checks.ts'

/** Specification, Errors. */
export const errorChecks: Checks<'errors'> = {
  'errors/missing-ids': givenHotel(refusedUpserts, ({ noGroup, noIdentifier }, bench) =>
    judged(
      [noGroup, noIdentifier].every((answer) => answer.status === 400 && isWhole(bench, answer)),
      `${shown(bench, noGroup)}; ${shown(bench, noIdentifier)}`,
    ),
  ),
  'errors/foreign-ids': givenHotel(refusedUpserts, ({ foreignGroup, foreignIdentifier }, bench) => {
    const kept = [foreignGroup, foreignIdentifier].every((answer) => answer.status === 403 && isWhole(bench, answer))
    return judged(kept, `${shown(bench, foreignGroup)}; ${shown(bench, foreignIdentifier)}`)
  }),
  'errors/items': givenHotel(writeAnswers, async ({ failing }, bench, hotel) => {
    const names = bench.contract.names.companyMappingsResult
    const { file } = await writeMapping(bench, hotel)
    const entries = objectsOf(at(file, names.companies))
    const unmatched = entries.filter((entry) => entry[names.status] !== names.mapped).length
    const rows = failedRows(bench, failing.task).length
    const told = `${unmatched} in the mapping's file`
    return together(
      judged(rows > 0 && failing.task !== null, `${endOf(failing)} with ${rows} rows`),
      // Whether a file lists what matches nothing is not shown.
      entries.length === 1 ? notObserved(told) : judged(unmatched === 1, told),
    )
  }),
  'errors/rows': givenHotel(writeAnswers, ({ mixed, badRows }, bench) => {
    const { reason, message } = bench.contract.names.rowError
    const rows = failedRows(bench, mixed.task)
    const reasons = rows.map((row) => textOf(row[reason]) ?? textOf(row[message]))
    return judged(
      rows.length === badRows && reasons.every((one) => one !== null),
      `${rows.length} rows: ${[...new Set(reasons)].join(', ')}`,
    )
  }),
  'errors/webhook-answers': givenEvents(trials, async ({ failed, redirected }, bench) => {
    const silent = await silentTrial(bench)
    const trial = [failed, redirected, silent]
    const codes = trial
      .map((one) => objectsOf(one?.attempts)[0])
      .map((attempt) => said(attempt?.httpStatus ?? 'no answer'))
    return judged(
      trial.every((one) => one?.status === 'queued' && one.nextAttemptAt !== null),
      `${codes.join(', ')}: each queued for another attempt`,
    )
  }),
  'errors/webhook-urls': givenEvents(webhookRules, ({ always, addresses }) => {
    const asked = Object.values(addresses).every(({ status }) => status !== 404)
    const refused = faultless(
      notRefused({ ...always, ...(asked && addresses) }),
      `${Object.keys({ ...always, ...(asked && addresses) }).length} kinds refused`,
    )
    return asked ? refused : together(refused, notObserved('HTTPS and public addresses are not judged'))
  }),
  'errors/fields': async (bench) => {
    await refusals(bench)
    await givenHotel(refusedUpserts, () => holds(''))(bench)
    // A path that the specification does not show may lead elsewhere than to the service.
    const open = [...Object.values(bench.contract.endpoints), ...Object.values(bench.contract.otherEndpoints)]
      .filter(({ source }) => source !== 'stated')
      .map(({ method, path }) => `${method} ${path}`)
    const answers = bench.wire.refusals.filter(({ call, status }) => !isNowhere(status) || !open.includes(call))
    const faults = answers.filter((answer) => !isWhole(bench, answer))
    return faultless(
      faults.map(({ call, status, json }) => `${call} ${status}: ${kindOf(json)}`),
      `${answers.length} refusals with both`,
    )
  },
  'errors/message': ourSide((bench) => {
    const told = [{ message: 'now in other words' }, {}].map((more) =>
      refusalOf(bench, 403, { ...errorBody(bench, 'some_code'), ...more }),
    )
    const codes = new Set(told.map(({ code }) => code))
    return judged(codes.size === 1, `other words, same class: ${[...codes].join(', ')}`)
  }),
  'errors/unknown-code': ourSide((bench) => {
    const seen = [400, 401, 403, 404, 429, 500].map(
      (status) => refusalOf(bench, status, errorBody(bench, 'never_heard_of')).code,
    )
    return judged(new Set(seen).size === 6, seen.join(', '))
  }),
  'errors/stable': async (bench) => {
    const ask = () => bench.wire.call(bench.contract.endpoints.task, { id: randomUUID() })
    const codes = [await ask(), await ask()].map(({ json }) => textOf(at(json, bench.contract.names.error.errorCode)))
    return judged(
      codes[0] !== null && codes[0] === codes[1],
      `two unknown tasks: ${codes.map((code) => code ?? 'no code').join(', ')}`,
    )
  },
  'errors/open-codes': given(refusals, (answers, bench) => {
    const codes = answers.map(({ json }) => textOf(at(json, bench.contract.names.error.errorCode)))
    return holds([...new Set(codes)].map((code) => code ?? 'none').join(', '))
  }),
  'errors/open-layout': given(refusals, (answers) =>
    holds([...new Set(answers.map(({ json }) => kindOf(json)))].join('; ')),
  ),
  'errors/open-others': given(refusals, (answers, bench) =>
    holds(answers.map((answer) => shown(bench, answer)).join('; ')),
  ),
}

/** Refusals that every run provokes: no key, an unknown key, an unknown task, an unknown path. */
function refusals(bench: Bench): Promise<Answer[]> {
  return bench.once('refusals', async () => {
    const { endpoints } = bench.contract
    const answers = [
      await bench.wire.call(endpoints.unitTypes, { key: null }),
      await bench.wire.call(endpoints.unitTypes, { key: randomUUID() }),
      await bench.wire.call(endpoints.task, { id: randomUUID() }),
      await bench.wire.call(endpoints.framework, { id: randomUUID() }),
      await bench.wire.call(endpoints.calculatorsSearch, { body: '{ this is no JSON' }),
    ]
    for (const { json } of answers) bench.note('error', json)
    return answers
  })
}

/** Whether an error answer carries what each must: an errorCode and a message. */
function isWhole({ contract }: Pick<Bench, 'contract'>, { json }: Answer): boolean {
  const { errorCode, message } = contract.names.error
  return [errorCode, message].every((name) => (textOf(at(json, name)) ?? '').trim() !== '')
}

function shown(bench: Pick<Bench, 'contract'>, { call, status, json }: Answer): string {
  const code = textOf(at(json, bench.contract.names.error.errorCode)) ?? 'without a code'
  const message = textOf(at(json, bench.contract.names.error.message)) === null ? ' and without a message' : ''
  return `${call.split('/').at(-1)} ${status} ${code}${message}`
}
