import type pg from 'pg'
import { copyRows } from '../copy-rows.ts'
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
    `select id, company_id as "companyId", type_id as "typeId", year, month, inputs, summed, outputs, published
     from sandbox.calculator where company_id = any($1)`,
    [companyIds],
  )
  const byCompany = Map.groupBy(rows, (row) => row.companyId)
  return new Map(companyIds.map((id) => [id, createCompany(id, byCompany.get(id) ?? [])]))
}

/** Writes those that are new or differ from what is stored, and removes the ones that are gone. */
export async function storeCalculators(
  client: pg.PoolClient,
  calculators: { created: readonly Calculator[]; loaded: readonly Calculator[]; gone: readonly string[] },
): Promise<void> {
  const { created, loaded, gone } = calculators
  if (gone.length > 0) await client.query('delete from sandbox.calculator where id = any($1)', [gone])
  if (created.length > 0) {
    await copyRows(
      client,
      'sandbox.calculator (id, company_id, type_id, year, month, inputs, summed, outputs, published)',
      created.map(({ id, companyId, typeId, year, month, inputs, summed, outputs, published }) => [
        ...[id, companyId, typeId, year, month],
        ...[inputs, summed, outputs].map((values) => JSON.stringify(values)),
        published,
      ]),
    )
  }
  if (loaded.length > 0) await update(client, loaded)
}

async function update(client: pg.PoolClient, calculators: readonly Calculator[]): Promise<void> {
  await client.query(
    `update sandbox.calculator kept
     set inputs = sent.inputs, summed = sent.summed, outputs = sent.outputs, published = sent.published
     from unnest($1::uuid[], $2::jsonb[], $3::jsonb[], $4::jsonb[], $5::text[])
       as sent (id, inputs, summed, outputs, published)
     where kept.id = sent.id and (kept.inputs, kept.summed, kept.outputs, kept.published)
       is distinct from (sent.inputs, sent.summed, sent.outputs, sent.published)`,
    [
      calculators.map(({ id }) => id),
      calculators.map(({ inputs }) => JSON.stringify(inputs)),
      calculators.map(({ summed }) => JSON.stringify(summed)),
      calculators.map(({ outputs }) => JSON.stringify(outputs)),
      calculators.map(({ published }) => published),
    ],
  )
}
