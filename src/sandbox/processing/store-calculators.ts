import type pg from 'pg'
import type { CalculatorCompany } from '../requests/read-calculators.ts'
import { type Calculator, type CompanyCalculators, createCompany } from './calculator-state.ts'

/** Two requests that feed the same company take turns; in key order, so that they cannot wait for each other. */
export async function lockCompanies(client: pg.PoolClient, companyIds: readonly string[]): Promise<void> {
  await client.query('select 1 from sandbox.company where id = any($1) order by id for no key update', [companyIds])
}

/** The companies for which each setting is on. */
type Switched = { yearlyCalculation: Set<string>; publishing: Set<string> }

/** Stores the settings that were sent; returns what is on now. */
export async function storeSettings(
  client: pg.PoolClient,
  entries: readonly { companyId: string; company: CalculatorCompany }[],
): Promise<Switched> {
  const settings = new Map<string, { yearly: boolean | null; publishing: boolean | null }>()
  for (const { companyId, company } of entries) {
    const before = settings.get(companyId)
    settings.set(companyId, {
      yearly: company.automaticYearlyCalculation ?? before?.yearly ?? null,
      publishing: company.automaticPublishing ?? before?.publishing ?? null,
    })
  }
  const { rows } = await client.query<{ company_id: string; yearly: boolean; publishing: boolean }>(
    `insert into sandbox.company_setting as kept
       (company_id, automatic_yearly_calculation, automatic_publishing)
     select company_id, coalesce(yearly, before.automatic_yearly_calculation, false),
            coalesce(publishing, before.automatic_publishing, false)
     from unnest($1::uuid[], $2::boolean[], $3::boolean[]) as sent (company_id, yearly, publishing)
     left join sandbox.company_setting before using (company_id)
     order by company_id
     on conflict (company_id) do update set
       automatic_yearly_calculation = excluded.automatic_yearly_calculation,
       automatic_publishing = excluded.automatic_publishing
     returning company_id, automatic_yearly_calculation as yearly, automatic_publishing as publishing`,
    [
      [...settings.keys()],
      [...settings.values()].map(({ yearly }) => yearly),
      [...settings.values()].map(({ publishing }) => publishing),
    ],
  )
  const on = (setting: 'yearly' | 'publishing') =>
    new Set(rows.filter((row) => row[setting]).map((row) => row.company_id))
  return { yearlyCalculation: on('yearly'), publishing: on('publishing') }
}

/** Every calculator of each of the companies. */
export async function loadCalculators(
  client: pg.PoolClient,
  companyIds: readonly string[],
): Promise<Map<string, CompanyCalculators>> {
  const { rows } = await client.query<Calculator>(
    `select id, company_id as "companyId", type_id as "typeId", year, month, inputs, summed, outputs
     from sandbox.calculator where company_id = any($1)`,
    [companyIds],
  )
  const byCompany = Map.groupBy(rows, (row) => row.companyId)
  return new Map(companyIds.map((id) => [id, createCompany(id, byCompany.get(id) ?? [])]))
}

/** Writes those that differ from what is stored, and removes the ones that are gone. */
export async function storeCalculators(
  client: pg.PoolClient,
  calculators: readonly Calculator[],
  gone: readonly string[],
): Promise<void> {
  await client.query('delete from sandbox.calculator where id = any($1)', [gone])
  await client.query(
    `insert into sandbox.calculator as kept (id, company_id, type_id, year, month, inputs, summed, outputs)
     select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::int[], $6::jsonb[], $7::jsonb[],
       $8::jsonb[])
     on conflict (id) do update
       set inputs = excluded.inputs, summed = excluded.summed, outputs = excluded.outputs
       where (kept.inputs, kept.summed, kept.outputs)
         is distinct from (excluded.inputs, excluded.summed, excluded.outputs)`,
    [
      calculators.map(({ id }) => id),
      calculators.map(({ companyId }) => companyId),
      calculators.map(({ typeId }) => typeId),
      calculators.map(({ year }) => year),
      calculators.map(({ month }) => month),
      calculators.map(({ inputs }) => JSON.stringify(inputs)),
      calculators.map(({ summed }) => JSON.stringify(summed)),
      calculators.map(({ outputs }) => JSON.stringify(outputs)),
    ],
  )
}
