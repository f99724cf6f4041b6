import type pg from 'pg'
import type { CopyValue } from '../db/copy-text.ts'
import { resourceRecord } from './catalogue/resource-record.ts'
import { copyRows } from './copy-rows.ts'
import { drawResourceYear } from './draw-resource-record.ts'
import { companyIdAt, isKnownToService } from './hotels.ts'
import { calculatorId } from './processing/calculator-state.ts'
import { inTransaction } from './running-sandbox.ts'

/** Hotels whose calculators are stored in one transaction: what an interrupted start has to do again takes a moment. */
const hotelsAtOnce = 500

type SeedingOptions = {
  /** Ends the seeding between two transactions; the next start goes on from there. */
  signal?: AbortSignal | undefined
  /** Told after each transaction how many of the hotels have theirs. */
  onProgress?: ((done: number, of: number) => void) | undefined
}

/**
 * Gives every company twelve monthly resource records and the yearly one that sums them up, for the last full year
 * before `at` or, once some have calculators, for their year. Goes on where an interrupted start ended.
 */
export async function seedCalculators(
  pool: pg.Pool,
  world: { seed: number; at: number },
  { signal, onProgress }: SeedingOptions = {},
): Promise<void> {
  const lastFullYear = new Date(world.at).getUTCFullYear() - 1
  const { rows } = await pool.query<{ hotels: number; year: number; until: number }>(
    `update sandbox.world set calculators_year = coalesce(calculators_year, $1)
     returning hotels, calculators_year as year, calculators_until as until`,
    [lastFullYear],
  )
  const state = rows[0]
  if (!state || state.until >= state.hotels) return
  for (let first = state.until + 1; first <= state.hotels; first += hotelsAtOnce) {
    signal?.throwIfAborted()
    const last = Math.min(first + hotelsAtOnce - 1, state.hotels)
    await inTransaction(pool, (client) => storeRange(client, { ...world, year: state.year, first, last }))
    onProgress?.(last, state.hotels)
  }
  await pool.query('analyze sandbox.calculator, sandbox.company_setting')
}

type Range = { seed: number; year: number; first: number; last: number }

async function storeRange(client: pg.PoolClient, range: Range): Promise<void> {
  const { rows } = await client.query(
    'update sandbox.world set calculators_until = $2 where calculators_until = $1 - 1 returning 1',
    [range.first, range.last],
  )
  if (rows.length === 0) throw new Error('another process seeds calculators in this database')
  await client.query(
    `insert into sandbox.company_setting (company_id, automatic_yearly_calculation)
     select id, true from sandbox.company where number between $1 and $2
     on conflict do nothing`,
    [range.first, range.last],
  )
  await copyRows(
    client,
    'sandbox.calculator (id, company_id, type_id, year, month, inputs, summed, outputs)',
    calculatorRows(range, await readExceptions(client, range)),
  )
}

type Exceptions = { fed: Set<string>; withoutSums: Set<string> }

/** What partners did in a world without these calculators stays: records of their own, and sums switched off. */
async function readExceptions(client: pg.PoolClient, { first, last }: Range): Promise<Exceptions> {
  const { rows } = await client.query<{ id: string; fed: boolean; automatic: boolean }>(
    `select company.id, automatic_yearly_calculation as automatic,
            exists (select from sandbox.calculator where company_id = company.id and type_id = $3) as fed
     from sandbox.company join sandbox.company_setting on company_id = company.id
     where number between $1 and $2`,
    [first, last, resourceRecord.id],
  )
  return {
    fed: new Set(rows.filter(({ fed }) => fed).map(({ id }) => id)),
    withoutSums: new Set(rows.filter(({ automatic }) => !automatic).map(({ id }) => id)),
  }
}

function* calculatorRows({ seed, year, first, last }: Range, { fed, withoutSums }: Exceptions): Generator<CopyValue[]> {
  for (let number = first; number <= last; number += 1) {
    if (!isKnownToService(number)) continue
    const companyId = companyIdAt(seed, number)
    if (fed.has(companyId)) continue
    const drawn = drawResourceYear(seed, number)
    const head = (month: number | null): CopyValue[] => [
      calculatorId(companyId, resourceRecord.id, year, month),
      companyId,
      resourceRecord.id,
      year,
      month,
    ]
    if (!withoutSums.has(companyId)) yield [...head(null), '{}', drawn.year.inputs, drawn.year.outputs]
    for (const [index, month] of drawn.months.entries()) yield [...head(index + 1), month.inputs, '{}', month.outputs]
  }
}
