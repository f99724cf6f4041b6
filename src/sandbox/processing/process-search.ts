import type pg from 'pg'
import { catalogue } from '../catalogue.ts'
import { createFile } from '../files/write-file.ts'
import { groupIdsOf, ownedProperty } from '../requests/check-access.ts'
import type { SearchRequest } from '../requests/read-search.ts'
import { inTransaction } from '../sandbox.ts'
import type { Outcome } from '../tasks/task.ts'
import { describeCompany } from './describe-company.ts'
import { type FoundCompany, readCalculatorsOf, readCompaniesAfter, readPropertiesOf } from './read-companies-found.ts'
import { emptyOutcome, type Work } from './work.ts'

/** Companies that are in memory at once; a page is written piece by piece, so that its size does not matter. */
const companiesAtOnce = 200

const variableNames = new Map(
  [...catalogue.fieldTypes, ...catalogue.outputVariables].map((variable) => [variable.id, variable.name]),
)

/**
 * Writes one file per page of the companies in the profile's groups, in a fixed order, as they are at one moment. A
 * company without calculators is on its page all the same; without any company there is one page with none.
 */
export async function processSearch(work: Work, request: SearchRequest): Promise<Outcome> {
  const { pool, pageSize } = work.sandbox
  const outcome = emptyOutcome()
  await inTransaction(pool, async (snapshot) => {
    await snapshot.query('set transaction isolation level repeatable read, read only')
    let after = 0
    for (let page = 0; ; page += 1) {
      const next = await writePage(work, request, snapshot, page, after)
      outcome.accepted += next.companies
      after = next.last
      if (next.companies < pageSize || (await isEnd(snapshot, work, after))) return
    }
  })
  return outcome
}

async function isEnd(snapshot: pg.PoolClient, work: Work, after: number): Promise<boolean> {
  const [another] = await readCompaniesAfter(snapshot, groupIdsOf(work.profileId), after, 1)
  return another === undefined
}

async function writePage(
  work: Work,
  request: SearchRequest,
  snapshot: pg.PoolClient,
  page: number,
  after: number,
): Promise<{ companies: number; last: number }> {
  const { pool, pageSize } = work.sandbox
  const file = await createFile(pool, work.taskId, page)
  const variables = new Set<string>()
  let companies = 0
  let last = after
  while (companies < pageSize) {
    work.signal.throwIfAborted()
    const wanted = Math.min(companiesAtOnce, pageSize - companies)
    const found = await readCompaniesAfter(snapshot, groupIdsOf(work.profileId), last, wanted)
    for (const text of await describeAll(work, request, snapshot, found, variables)) {
      await file.write(`${companies === 0 ? '' : ','}${text}`)
      companies += 1
    }
    last = found.at(-1)?.number ?? last
    if (found.length < wanted) break
  }
  await file.write(']}')
  await file.end(headOf(work, request, variables))
  return { companies, last }
}

async function describeAll(
  work: Work,
  request: SearchRequest,
  snapshot: pg.PoolClient,
  found: readonly FoundCompany[],
  variables: Set<string>,
): Promise<string[]> {
  const ids = found.map(({ id }) => id)
  const properties = ownedProperties(work, request).map(({ id }) => id)
  const values = await readPropertiesOf(snapshot, ids, properties)
  const calculators = await readCalculatorsOf(snapshot, ids, request.calculatorTypeIds)
  return found.map((company) => {
    const own = calculators.get(company.id) ?? []
    for (const { inputs, outputs } of own) {
      for (const id of [...Object.keys(inputs), ...Object.keys(outputs)]) variables.add(id)
    }
    return JSON.stringify(describeCompany(work.sandbox.contract, company, values.get(company.id) ?? new Map(), own))
  })
}

/** Everything before the companies; it can be written only when the page's variables are known. */
function headOf(work: Work, request: SearchRequest, variables: Set<string>): string {
  const names = work.sandbox.contract.names.calculatorsPage
  const head: Record<string, unknown> = {}
  if (request.customPropertyIds !== null) {
    head[names.customProperties] = ownedProperties(work, request).map(({ id, name }) => ({
      [names.id]: id,
      [names.name]: name,
    }))
  }
  if (variables.size > 0) {
    head[names.calculatorVariables] = [...variables].sort().map((id) => ({
      [names.id]: id,
      [names.name]: variableNames.get(id) ?? id,
    }))
  }
  const members = Object.entries(head).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
  return `{${members.join('')}${JSON.stringify(names.companies)}:[`
}

/** The requested properties that the profile owns, in the request's order; the others are silently left out. */
function ownedProperties(work: Work, request: SearchRequest) {
  return (request.customPropertyIds ?? []).flatMap((id) => ownedProperty(work.profileId, id) ?? [])
}
