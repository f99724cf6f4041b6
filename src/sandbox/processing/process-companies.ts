import { parseDecimal } from '../decimal.ts'
import { requireProperty } from '../requests/check-access.ts'
import type { CompaniesRequest, CompanyProperties } from '../requests/read-companies.ts'
import { inTransaction } from '../running-sandbox.ts'
import { isStorable } from '../storable-text.ts'
import type { RowRecorder } from './record-rows.ts'
import { type Resolved, resolveCompanies } from './resolve-companies.ts'
import { type Failure, slices, type Work } from './work.ts'

/** Values of one property of one company, in the order sent; what is stored before goes. */
type Replacement = { companyId: string; propertyId: string; values: string[] }

/**
 * Stores custom property values. What an entry sends of a property replaces the company's values; blank clears them.
 */
export async function processCompanies(
  work: Work,
  request: Pick<CompaniesRequest, 'customIdentifierId' | 'companies'>,
  recorder: RowRecorder,
): Promise<void> {
  for (const slice of slices(request.companies, 500, work.signal)) {
    const resolved = await resolveCompanies(
      work.sandbox.pool,
      work,
      slice.map(({ identifier }) => ({ propertyId: request.customIdentifierId, value: identifier })),
    )
    const replacements = new Map<string, Replacement>()
    for (const [index, entry] of slice.entries()) {
      const company = resolved[index]
      if (!company) continue
      for (const replacement of judgeEntry(work, recorder, entry, company)) {
        replacements.set(`${replacement.companyId} ${replacement.propertyId}`, replacement)
      }
    }
    await Promise.all([storeValues(work, [...replacements.values()]), recorder.flush()])
  }
}

/** What is to be stored of one entry, by property. */
function judgeEntry(work: Work, recorder: RowRecorder, entry: CompanyProperties, company: Resolved): Replacement[] {
  const { companyId } = company
  if (entry.properties.length === 0 && company.failure) {
    recorder.fail({ companyId, identifier: entry.identifier }, company.failure)
  }
  const byProperty = new Map<string, Replacement>()
  for (const { propertyId: sentId, value } of entry.properties) {
    const propertyId = sentId.toLowerCase()
    const row = { companyId, identifier: entry.identifier, propertyId: sentId }
    const failure = company.failure ?? judgeValue(work, propertyId, value)
    if (failure || companyId === null) {
      if (failure) recorder.fail(row, failure)
      continue
    }
    recorder.accept(row)
    const replacement = byProperty.get(propertyId) ?? { companyId, propertyId, values: [] }
    byProperty.set(propertyId, replacement)
    if (value.trim() !== '') replacement.values.push(value)
  }
  return [...byProperty.values()]
}

function judgeValue({ sandbox, profileId }: Work, propertyId: string, value: string): Failure | null {
  const property = requireProperty(sandbox.world, profileId, propertyId)
  if (property.isIdentifier) {
    return { reason: 'custom_property_is_identifier', message: `Values of "${property.name}" come from mappings only.` }
  }
  if (!isStorable(value)) return { reason: 'text_not_storable', message: 'The value holds an unusable character.' }
  if (property.type === 'Number' && value.trim() !== '' && !parseDecimal(value)) {
    return { reason: 'value_not_numeric', message: `"${property.name}" takes decimal numbers.` }
  }
  return null
}

async function storeValues(work: Work, replacements: readonly Replacement[]): Promise<void> {
  const values = replacements.flatMap(({ companyId, propertyId, values }) =>
    values.map((value, ordinal) => ({ companyId, propertyId, ordinal, value })),
  )
  const companyIds = replacements.map(({ companyId }) => companyId)
  await inTransaction(work.sandbox.pool, async (client) => {
    await client.query('select 1 from sandbox.company where id = any($1) order by id for no key update', [companyIds])
    await client.query(
      `delete from sandbox.property_value where (company_id, property_id) in
         (select * from unnest($1::uuid[], $2::uuid[]))`,
      [companyIds, replacements.map(({ propertyId }) => propertyId)],
    )
    await client.query(
      `insert into sandbox.property_value (company_id, property_id, ordinal, value, changed_at)
       select *, $5::timestamptz from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[])`,
      [
        values.map(({ companyId }) => companyId),
        values.map(({ propertyId }) => propertyId),
        values.map(({ ordinal }) => ordinal),
        values.map(({ value }) => value),
        new Date(work.sandbox.clock.now()),
      ],
    )
  })
}
