import { afterEach, expect, it } from 'vitest'
import { resourceFieldTypes, resourceOutputs, resourceRecord } from '../../src/sandbox/catalogue/resource-record.ts'
import { drawResourceYear } from '../../src/sandbox/draw-resource-record.ts'
import { seedCalculators } from '../../src/sandbox/seed-calculators.ts'
import { some } from '../helpers/some.ts'
import { calculators, inputsOf, mapHotels, partnerId } from '../sandbox/bodies.ts'
import { type OpenSandbox, openSandbox, seed } from '../sandbox/open-sandbox.ts'

let sandbox: OpenSandbox
afterEach(() => sandbox.close())

const lastYear = new Date().getUTCFullYear() - 1

/** How many calculators there are, and a hash over all of them. */
async function fingerprint(of: OpenSandbox = sandbox): Promise<unknown> {
  const { rows } = await of.pool.query(
    `select count(*)::int as count, md5(string_agg(md5(c::text), '' order by id)) as hash from sandbox.calculator c`,
  )
  return rows[0]
}

it('seeding gives every company twelve monthly calculators and a yearly one, with 18 inputs and 12 outputs each', async () => {
  sandbox = await openSandbox({ companies: 60, calculators: true })
  const pages = await sandbox.pages(await sandbox.run('calculatorsSearch', { calculatorTypeIds: [resourceRecord.id] }))
  const companies = pages.flatMap((page) => page.companies)
  expect(companies).toHaveLength(59)
  const variables = [...resourceFieldTypes, ...resourceOutputs].map(({ id, name }) => ({ id, name }))
  expect(pages[0]?.calculatorVariables?.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
    variables.toSorted((a, b) => a.id.localeCompare(b.id)),
  )
  for (const company of some(companies)) {
    expect(company.calculators.map(({ period }) => period.year)).toEqual(Array(13).fill(lastYear))
    expect(company.calculators.flatMap(({ period }) => period.month ?? [])).toHaveLength(12)
    for (const { typeId, inputs = {}, outputs = {} } of some(company.calculators)) {
      expect([typeId, Object.keys(inputs).length, Object.keys(outputs).length]).toEqual([resourceRecord.id, 18, 12])
    }
  }
})

it('seeding makes the same calculators when it is interrupted and when it is not', async () => {
  const companies = 700
  sandbox = await openSandbox({ companies, calculators: true })
  await using other = { sandbox: await openSandbox({ companies }), [Symbol.asyncDispose]: () => other.sandbox.close() }
  expect(await fingerprint(other.sandbox)).toMatchObject({ count: 0 })
  await other.sandbox.stop()
  const interrupted = new AbortController()
  const seeding = seedCalculators(
    other.sandbox.pool,
    { seed, at: Date.now() },
    { signal: interrupted.signal, onProgress: () => interrupted.abort(new Error('interrupted')) },
  )
  await expect(seeding).rejects.toThrow('interrupted')
  const { count } = (await fingerprint(other.sandbox)) as { count: number }
  expect(count).toBeGreaterThan(0)
  const whole = await fingerprint()
  expect(whole).toMatchObject({ count: 13 * (companies - companies / 50) })
  expect(count).toBeLessThan(13 * (companies - companies / 50))
  await other.sandbox.start({ calculators: true })
  expect(await fingerprint(other.sandbox)).toEqual(whole)
})

it('seeding gives companies that are added later theirs, in the year of the others', async () => {
  sandbox = await openSandbox({ companies: 10, calculators: true })
  await sandbox.pool.query('update sandbox.world set calculators_year = 2019')
  await sandbox.stop()
  await sandbox.start({ companies: 20, calculators: true })
  const { rows } = await sandbox.pool.query('select year, count(*)::int from sandbox.calculator group by 1 order by 1')
  expect(rows).toEqual([
    { year: 2019, count: 130 },
    { year: lastYear, count: 130 },
  ])
})

it('seeding leaves alone what partners did in a world that had none', async () => {
  sandbox = await openSandbox({ companies: 10 })
  await sandbox.run('companyMappings', mapHotels(1, 2))
  const [electricity] = resourceFieldTypes
  const period = { year: lastYear, month: 'March' }
  await sandbox.run(
    'calculatorsUpsert',
    calculators([
      inputsOf(partnerId(1), period, { [electricity?.id ?? '']: '5' }),
      { identifier: partnerId(2), automaticYearlyCalculation: false, calculators: [] },
    ]),
  )
  await sandbox.stop()
  await sandbox.start({ calculators: true })
  const { rows } = await sandbox.pool.query(
    `select number, count(*)::int as count, count(*) filter (where month is null)::int as yearly
     from sandbox.calculator join sandbox.company on company.id = company_id group by 1 order by 1`,
  )
  expect(rows[0]).toEqual({ number: 1, count: 1, yearly: 0 })
  expect(rows[1]).toEqual({ number: 2, count: 12, yearly: 0 })
  expect(rows[2]).toEqual({ number: 3, count: 13, yearly: 1 })
})

it('seeding sums a year up again when a partner corrects one of its months', async () => {
  sandbox = await openSandbox({ companies: 3, calculators: true })
  await sandbox.run('companyMappings', mapHotels(1))
  const [electricity] = resourceFieldTypes
  const id = electricity?.id ?? ''
  const yearly = async () => {
    const [page] = await sandbox.pages(await sandbox.run('calculatorsSearch', {}))
    const found = page?.companies[0]?.calculators.find(({ period }) => period.month === undefined)
    return Number(found?.inputs?.[id])
  }
  const before = await yearly()
  const march = Number(JSON.parse(drawResourceYear(seed, 1).months[2]?.inputs ?? '{}')[id])
  await sandbox.run(
    'calculatorsUpsert',
    calculators([inputsOf(partnerId(1), { year: lastYear, month: 'March' }, { [id]: '0' })]),
  )
  expect(await yearly()).toBeCloseTo(before - march, 5)
})
