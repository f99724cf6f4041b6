import type pg from 'pg'
import { createListFile } from '../files/write-file.ts'
import type { CalculatorCompany, CalculatorsRequest } from '../requests/read-calculators.ts'
import { inTransaction } from '../running-sandbox.ts'
import type { Outcome } from '../tasks/sandbox-task.ts'
import { applyInput, recalculate } from './calculator-state.ts'
import { type InputError, judgeCalculators } from './judge-calculators.ts'
import { notePublished, publishResults } from './publish-results.ts'
import { resolveCompanies } from './resolve-companies.ts'
import { loadCalculators, lockCompanies, storeCalculators, storeSettings } from './store-calculators.ts'
import { emptyOutcome, slices, type Work } from './work.ts'

/** What became of one company's entry. */
type Result = { identifier: string; companyId: string | null; errors: InputError[] }

/**
 * Merges the inputs of each company into what is stored and computes its calculators. A company's entry is taken whole
 * or not at all, because the result file tells outcomes per company.
 */
export async function processCalculators(work: Work, request: CalculatorsRequest): Promise<Outcome> {
  const names = work.sandbox.contract.names.calculatorsResult
  const file = await createListFile(work.sandbox.pool, work.taskId, names.companies)
  const outcome = emptyOutcome()
  for (const slice of slices(request.companies, 100, work.signal)) {
    for (const { identifier, companyId, errors } of await processSlice(work, request, slice)) {
      const failed = errors.length > 0
      outcome[failed ? 'failed' : 'accepted'] += 1
      await file.add({
        [names.identifier]: identifier,
        ...(companyId !== null && { [names.companyId]: companyId }),
        [names.status]: failed ? names.failed : names.success,
        ...(failed && {
          [names.errors]: errors.map(({ fieldTypeId, reason }) => ({
            ...(fieldTypeId !== null && { [names.fieldTypeId]: fieldTypeId }),
            [names.reason]: reason,
          })),
        }),
      })
    }
  }
  await file.end()
  if (outcome.failed > 0) outcome.generalErrors.push(`${outcome.failed} companies failed; see the result file.`)
  return outcome
}

async function processSlice(
  work: Work,
  request: CalculatorsRequest,
  companies: readonly CalculatorCompany[],
): Promise<Result[]> {
  const { pool, world } = work.sandbox
  return inTransaction(pool, async (client) => {
    const resolved = await resolveCompanies(
      client,
      work,
      companies.map(({ identifier }) => ({ propertyId: request.customIdentifierId, value: identifier })),
      [request.groupId],
    )
    const entries = companies.map((company, index) => {
      const found = resolved[index]
      const { inputs, errors } = judgeCalculators(world, company)
      if (found?.failure) errors.unshift({ fieldTypeId: null, reason: found.failure.reason })
      return { company, companyId: found?.companyId ?? null, inputs, errors }
    })
    await storeEntries(
      client,
      work,
      entries.flatMap(({ company, companyId, inputs, errors }) =>
        companyId === null || errors.length > 0 ? [] : [{ company, companyId, inputs }],
      ),
    )
    return entries.map(({ company, companyId, errors }) => ({ identifier: company.identifier, companyId, errors }))
  })
}

type Entry = { company: CalculatorCompany; companyId: string; inputs: ReturnType<typeof judgeCalculators>['inputs'] }

async function storeEntries(
  client: pg.PoolClient,
  { sandbox, taskId }: Work,
  entries: readonly Entry[],
): Promise<void> {
  const companyIds = [...new Set(entries.map(({ companyId }) => companyId))]
  if (companyIds.length === 0) return
  await lockCompanies(client, companyIds)
  const on = await storeSettings(client, entries)
  const companies = await loadCalculators(client, companyIds)
  for (const { companyId, inputs } of entries) {
    const company = companies.get(companyId)
    if (company) for (const input of inputs) applyInput(company, input)
  }
  const all = [...companies.values()]
  const gone = all.flatMap((company) =>
    recalculate(sandbox.world, company, on.yearlyCalculation.has(company.companyId)),
  )
  const publishing = all.filter(({ companyId }) => on.publishing.has(companyId))
  const published = new Map(publishing.map((company) => [company.companyId, publishResults(company)]))
  const created = all.flatMap((company) => [...company.created])
  const loaded = all.flatMap((company) => [...company.byKey.values()].filter((one) => !company.created.has(one)))
  await storeCalculators(client, { created, loaded, gone })
  await notePublished(client, taskId, published)
}
