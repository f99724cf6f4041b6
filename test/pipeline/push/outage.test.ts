import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { sizeOf } from '../../../src/pipeline/push/waves/learn-size.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openFerry } from './ferry.ts'
import { outcomes, poisonService, properties, untilAllSettled } from './poison-service.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(() => ferry.clear())

/** Sends until nothing is left to plan, and ends the run. */
async function restOfNight(deps: Deps): Promise<void> {
  do await untilAllSettled(ferry, deps)
  while (await ferry.wave(deps))
  await sql`update run set state = 'finished'`.execute(ferry.ledger.db)
}

async function nextNight(deps: Deps): Promise<void> {
  await ferry.ledger.startRun()
  await ferry.wave(deps)
  await restOfNight(deps)
}

const found = async () => new Set(Object.values(await outcomes(ferry, 'properties')))

describe('a service that ends every task in Error without naming a row', () => {
  it.each([1, 8])(
    'rejects no row in two nights, with %i requests at a time, however small they become',
    async (inFlightPerKind) => {
      await using service = await poisonService(() => true)
      await using deps = ferry.deps(service.url, { firstRows: 16, inFlightPerKind })
      await ferry.ledger.startRun()
      await ferry.ledger.landChecked('properties', properties(47))
      await ferry.wave(deps)
      await restOfNight(deps)
      expect(await found()).toEqual(new Set(['task_error']))
      await nextNight(deps)
      expect(await found()).toEqual(new Set(['task_error']))
    },
  )

  it('makes no request so small that it cannot tell, and a night that goes well makes them large again', async () => {
    let down = true
    await using service = await poisonService(() => down)
    await using deps = ferry.deps(service.url, { firstRows: 16, inFlightPerKind: 1 })
    await ferry.ledger.startRun()
    await ferry.ledger.landChecked('properties', properties(47))
    await ferry.wave(deps)
    await restOfNight(deps)
    expect(await sizeOf(deps, 'company_mappings')).toBe(4)
    down = false
    await nextNight(deps)
    expect(await found()).toEqual(new Set(['confirmed']))
    expect(await sizeOf(deps, 'company_mappings')).toBeGreaterThanOrEqual(16)
  })
})

describe('a row that the service fails over, alone', () => {
  it('a row that the service fails over is rejected after one Error in a night in which an outage has ended', async () => {
    let down = true
    await using service = await poisonService((body) => down || body.includes('"n99."'))
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(8))
    await untilAllSettled(ferry, deps)
    expect(await found()).toEqual(new Set(['task_error']))
    down = false
    await ferry.ledger.landChecked('properties', [{ partner_id: 'N-1', content: { name: 'sound' } }])
    await ferry.wave(deps)
    await untilAllSettled(ferry, deps)
    await ferry.ledger.landChecked('properties', [{ partner_id: 'N-2', content: { name: 'n99.' } }])
    await ferry.wave(deps)
    await untilAllSettled(ferry, deps)
    expect(await outcomes(ferry, 'properties')).toMatchObject({ 'N-1': 'confirmed', 'N-2': 'task_error_alone' })
  })

  it('a row that fails alone is not rejected while nothing has passed since an outage was told', async () => {
    await using service = await poisonService(() => true)
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(8))
    await untilAllSettled(ferry, deps)
    await ferry.ledger.landChecked('properties', [{ partner_id: 'N-1', content: { name: 'sound' } }])
    await ferry.wave(deps)
    await untilAllSettled(ferry, deps)
    const row = await ferry.ledger.row('properties', 'N-1')
    expect(row).toMatchObject({ outcome: 'unknown', outcome_code: 'task_error', refused_hash: null })
    expect(row.outcome_reason).toBe(
      'It broke. (another request of the run was split, and every part failed alike, so it is not the rows)',
    )
  })

  it('a row that fails alone is rejected beside others that pass, in a night in which an outage was told', async () => {
    let down = true
    await using service = await poisonService((body) => down || body.includes('"n99."'))
    await using deps = ferry.deps(service.url)
    await ferry.planned(deps, 'properties', properties(8))
    await untilAllSettled(ferry, deps)
    down = false
    await ferry.ledger.landChecked('properties', [
      { partner_id: 'N-1', content: { name: 'sound' } },
      { partner_id: 'N-2', content: { name: 'n99.' } },
    ])
    await ferry.wave(deps)
    await untilAllSettled(ferry, deps)
    expect(await outcomes(ferry, 'properties')).toMatchObject({ 'N-1': 'confirmed', 'N-2': 'task_error_alone' })
  })
})
