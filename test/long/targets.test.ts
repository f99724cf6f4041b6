import { expect, it } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { sentTooEarly, unfinishedTogether, upsertsReceived } from '../helpers/request-log.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

/** Pairs of requests of one path, unfinished at the same time, that carried hotels which are one company. */
async function companiesTogether(world: World): Promise<object[]> {
  const { rows } = await world.sandboxPool.query<object>(
    `with task as (
       select correlation_id, path, min(id) filter (where phase = 'received') as received,
              coalesce(min(id) filter (where phase = 'terminal'), 9223372036854775807) as terminal,
              min(identifiers) as identifiers
       from sandbox.request_log
       where correlation_id is not null and identifiers is not null and path not like '%/company-mappings'
       group by correlation_id, path),
     carried as (
       select task.*, company_id from task join sandbox.identifier on value = any(identifiers))
     select earlier.path, earlier.correlation_id as earlier, later.correlation_id as later, company_id
     from carried earlier join carried later using (path, company_id)
     where later.received > earlier.received and later.received < earlier.terminal`,
  )
  return rows
}

it('no two unfinished requests of a kind ever carry one hotel, or two hotels that are one company', async () => {
  await using world = await startWorld({ hotels: 24, seed: 11, durations: { jitter: 1 } })
  await using folder = await workingFolder()
  // Of every three hotels the first two are the same house: both are matched with one company.
  await world.partnerPool.query(
    `update hotelier.hotel twin
     set name = house.name, street = house.street, latitude = house.latitude, longitude = house.longitude,
         country_code = house.country_code, airport_code = house.airport_code, hotel_code = house.hotel_code,
         booking_id = house.booking_id
     from hotelier.hotel house
     where twin.hotel_id % 3 = 2 and house.hotel_id = twin.hotel_id - 1`,
  )
  const chaos = await fetch(new URL('/sandbox/chaos', world.sandboxUrl), {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: 'demo-key' },
    body: JSON.stringify({ profiles: { 'small-first': 0.5 } }),
  })
  expect(chaos.status).toBe(200)
  const settings = ['push.maxCompaniesPerMapping=5', 'push.maxAnswersPerUpsert=25', 'push.maxCalculatorsPerUpsert=40']
  const ended = await nightferry(
    folder.path,
    ['run', 'nightly-sync', '--json', '--config', demoConfig, ...settings.flatMap((setting) => ['--set', setting])],
    world.environment(),
  )
  const report = JSON.parse(ended.stdout) as RunReport
  const { rows } = await world.pool.query<{ twins: number }>(
    `select count(*)::int as twins from (
       select from nightferry.mapping group by company_id having count(*) > 1) shared`,
  )
  expect(rows[0]?.twins).toBe(8)
  // Rows of two houses that are one and say different things are not sent.
  for (const { pending, sent, invalid } of some(report.streams)) expect(sent + invalid).toBe(pending)
  expect(await upsertsReceived(world.sandboxPool)).toBeGreaterThan(30)
  expect(await companiesTogether(world)).toEqual([])
  expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
  expect(await sentTooEarly(world.sandboxPool)).toEqual([])
})
