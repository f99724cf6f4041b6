import { randomUUID } from 'node:crypto'
import { groups, properties, unitTypes } from '../evidence/reference-evidence.ts'
import { searches } from '../evidence/searches.ts'
import { eventsOfTasks, siblingSearch } from '../evidence/webhook-evidence.ts'
import { writeAnswers } from '../evidence/written-answers.ts'
import { refusedUpserts } from '../evidence/written-rest.ts'
import { judged, notObserved, together } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, kindOf, objectsOf, textOf } from '../wire-json.ts'
import { type Checks, given, givenEvents, givenHotel, withEvents } from './check.ts'
import { headerOnAll, verifyAll } from './judge-events.ts'
import { failedRows } from './judge-task.ts'

/** Specification, Authentication. */
export const authenticationChecks: Checks<'authentication'> = {
  'authentication/1': given(unitTypes, async (bare, bench) => {
    const schemed = await bench.wire.call(bench.contract.endpoints.unitTypes, { key: `Bearer ${bench.wire.apiKey}` })
    bench.note('error', schemed.json)
    return judged(bare.status === 200, `the key alone: ${bare.status}; behind Bearer: ${schemed.status}`)
  }),
  'authentication/2': async (bench) => {
    const own = (await properties(bench)).filter(({ owned }) => owned).length
    const { status, json } = await groups(bench)
    return judged(
      status === 200,
      `the key's profile has ${objectsOf(json).length} groups and owns ${own} custom properties`,
    )
  },
  'authentication/3': givenHotel(writeAnswers, async ({ failing }, bench, hotel) => {
    const { foreignGroup, foreignIdentifier } = await refusedUpserts(bench, hotel)
    const rows = failedRows(bench, failing.task)
    const reasons = [...new Set(rows.map((row) => textOf(row[bench.contract.names.rowError.reason])))]
    const refused = [foreignGroup.status, foreignIdentifier.status]
    return judged(
      rows.length > 0 && refused.every((status) => status === 403),
      `${refused.join(', ')} for foreign ids; failed items: ${reasons.join(', ')}`,
    )
  }),
  'authentication/4': givenEvents(siblingSearch, async (sibling, bench) => {
    if (sibling === null) return notObserved('needs a second key of the same profile: --sibling-key')
    const names = bench.contract.names.bulkEvent
    const events = await eventsOfTasks(bench)
    const of = (id: string | null) => events.find(({ data }) => data[names.correlationId] === id)?.data
    const [first, second] = [of((await searches(bench)).runs.calculators.correlationId), of(sibling.correlationId)]
    const apart = first?.[names.apiKeyId] !== second?.[names.apiKeyId]
    const same = first?.[names.profileId] === second?.[names.profileId]
    return judged(
      first !== undefined && second !== undefined && apart && same,
      `two keys of one profile: ${apart ? 'different apiKeyIds' : 'one apiKeyId'}, ${same ? 'one profileId' : 'different profileIds'}`,
    )
  }),
  'authentication/5': async (bench) => {
    const { endpoints } = bench.contract
    const key = randomUUID()
    const answers: Answer[] = []
    for (const endpoint of [endpoints.unitTypes, endpoints.groups, endpoints.tasks, endpoints.customProperties]) {
      answers.push(await bench.wire.call(endpoint, { key }))
    }
    answers.push(await bench.wire.call(endpoints.calculatorsSearch, { key, body: {} }))
    for (const answer of answers) bench.note('error', answer.json)
    const statuses = answers.map(({ status }) => status)
    // With which status an unknown key is refused is not shown.
    return judged(
      statuses.every((status) => status >= 400),
      `an unknown key: ${statuses.join(', ')}`,
    )
  },
  'authentication/6': given(unitTypes, ({ status }) =>
    judged(status === 200, `our side: unit types first (${status}), then what the profile owns, then results per item`),
  ),
  'authentication/7': withEvents(async (bench) => together(await verifyAll(bench), await headerOnAll(bench))),
  'authentication/8': async (bench) => {
    const none = await bench.wire.call(bench.contract.endpoints.unitTypes, { key: null })
    const unknown = await bench.wire.call(bench.contract.endpoints.unitTypes, { key: randomUUID() })
    for (const { json } of [none, unknown]) bench.note('error', json)
    const seen = [none, unknown].map(
      ({ status, json }) => `${status} ${textOf(at(json, bench.contract.names.error.errorCode)) ?? kindOf(json)}`,
    )
    return judged(none.status === 401 && unknown.status === 401, `missing: ${seen[0]}; unknown: ${seen[1]}`)
  },
}
