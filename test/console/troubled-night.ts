import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import { type AlteringProxy, alteringProxy } from '../helpers/altering-proxy.ts'
import { canaries } from '../helpers/canaries.ts'
import { runToEnd, type Served, served } from '../http/served.ts'

/** What would run in a browser that took it for more than text: as markup, and out of an attribute. */
export const hostileText = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>"'&`

/** Names of hotels that nobody at the service has heard of. What is to be sent of them waits. */
export const strangers = {
  'H-9991': hostileText,
  'H-9992': 'فندق لا يعرفه أحد',
  'H-9993': 'מלון שאיש אינו מכיר',
  'H-9994': '誰も知らない旅館・别馆',
} as const

/** Runs of the world, by what happened in each. */
export const nights = { calm: 1, refusals: 2, tasksInError: 3, failed: 4, held: 5 } as const

const hotels = 20

/**
 * Five nights: a calm one; one with rows refused for several reasons, others that are invalid, four hotels that nobody
 * knows, and values that the service no longer has; one whose tasks end in error; one that fails; one that the guard
 * holds. The service says of each error what would be a script.
 */
export async function troubledWorld(): Promise<Served> {
  let proxy: AlteringProxy | undefined
  const api = await served({ hotels }, async ({ sandboxUrl }) => {
    proxy = await alteringProxy(sandboxUrl, (_request, answer) => ({ ...answer, json: withScripts(answer.json) }))
    return {
      EXCHANGE_BASE_URL: proxy.url,
      NIGHTFERRY_GUARD_MIN_ROWS: '15',
      NIGHTFERRY_PULL_SEARCHES: JSON.stringify([{ name: 'all_companies', search: 'companiesSearch' }]),
    }
  })
  const { partnerPool } = api.world
  await runToEnd(api)

  await refusals(api)
  await runToEnd(api)

  await partnerPool.query(`update hotelier.meter_reading set value = value + 1, updated_at = now() where hotel_id = 4`)
  await trouble(api, { 'errors-without-rows': 1 })
  await runToEnd(api)
  await trouble(api, {})

  await partnerPool.query('alter table hotelier.hotel rename to hotel_away')
  await runToEnd(api)
  await partnerPool.query('alter table hotelier.hotel_away rename to hotel')

  await partnerPool.query(
    `update hotelier.hotel set name = name || ' Resort', updated_at = now() where hotel_id <= 20 and hotel_id not in (6, 7)`,
  )
  await runToEnd(api)
  return {
    ...api,
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]()
      await proxy?.[Symbol.asyncDispose]()
    },
  }
}

async function refusals({ world: { partnerPool, sandboxPool } }: Served): Promise<void> {
  await applySecondNight(partnerPool, { hotels, seed: 7, asOf: new Date() })
  const names = Object.entries(strangers)
  for (const [index, [code, name]] of names.entries()) {
    const id = 991 + index
    await partnerPool.query(`insert into hotelier.hotel (hotel_id, code, name) values ($1, $2, $3)`, [id, code, name])
    await partnerPool.query(`insert into hotelier.calculation_setting values ($1, true, false)`, [id])
    await partnerPool.query(
      `insert into hotelier.meter_reading (hotel_id, meter_id, year, month, value)
       select $1, meter_id, year, month, value from hotelier.meter_reading where hotel_id = 1 limit 27`,
      [id],
    )
  }
  await partnerPool.query(
    `insert into hotelier.hotel (hotel_id, code, name, latitude, longitude) values (998, 'H-9980', $1, 91, 181)`,
    [strangers['H-9992']],
  )
  await partnerPool.query(`update hotelier.hotel set name = $1, updated_at = now() where hotel_id = 5`, [hostileText])
  await partnerPool.query(
    `update hotelier.sustainability_answer set value = '99999', updated_at = now()
     where hotel_id in (6, 7) and value ~ '^[0-9]+$'`,
  )
  // A row without the value of its cursor, which the run warns of.
  await partnerPool.query(`alter table hotelier.certificate alter updated_at drop not null`)
  await partnerPool.query(
    `update hotelier.certificate set updated_at = null where ctid = (select min(ctid) from hotelier.certificate)`,
  )
  // What the service no longer shows.
  await sandboxPool.query(
    `delete from sandbox.calculator where company_id = (
       select company_id from sandbox.identifier where value = 'H-0003')`,
  )
  // Its own name of a company.
  await sandboxPool.query(
    `update sandbox.company set name = $1 where id = (select company_id from sandbox.identifier where value = 'H-0008')`,
    [hostileText],
  )
}

/** Has the service be in so much trouble, by the names of its profiles. */
async function trouble({ world }: Served, profiles: Record<string, number>): Promise<void> {
  const answer = await fetch(new URL('/sandbox/chaos', world.sandboxUrl), {
    method: 'PUT',
    headers: { authorization: canaries.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ profiles }),
  })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
}

/** What the service says for people, with a script before it: messages of rows, and those of whole tasks. */
function withScripts(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withScripts)
  if (typeof json !== 'object' || json === null) return json
  const members = Object.entries(json).map(([name, value]): [string, unknown] => {
    if (name === 'message' && typeof value === 'string') return [name, `${hostileText} ${value}`]
    if (name === 'generalErrorMessages' && Array.isArray(value))
      return [name, value.map((one) => `${hostileText} ${one}`)]
    return [name, withScripts(value)]
  })
  return Object.fromEntries(members)
}
