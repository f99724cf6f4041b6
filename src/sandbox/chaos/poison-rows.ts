import type { ReadRequest } from '../requests/read-bulk-request.ts'
import type { Sandbox } from '../running-sandbox.ts'
import type { Outcome, StartedTask } from '../tasks/sandbox-task.ts'
import { logTaskChaos } from './task-chaos.ts'
import { taskProfile } from './task-profiles.ts'

const profile = taskProfile.poisonRows

/**
 * Under which a row of an import is judged: what names it, the property first. The same row has the same fate in every
 * task.
 */
export function rowOccasion(...names: (string | number | null)[]): string {
  return `row ${names.filter((name) => name !== null).join(' ')}`
}

/** How a task ends that holds a poisoned row: nothing of it is done, and no row is named. Null where it holds none. */
export async function failOverPoison(
  sandbox: Sandbox,
  task: Pick<StartedTask, 'id'>,
  request: ReadRequest,
): Promise<Outcome | null> {
  if (!sandbox.chaos.active().has(profile.name)) return null
  if (!rowsOf(request).some((row) => sandbox.chaos.fate(profile.name, row))) return null
  await logTaskChaos(sandbox, profile, task.id)
  return { accepted: 0, failed: 1, rowErrors: [], generalErrors: ['The request could not be carried out.'] }
}

/** The rows of an import, as they are judged; a search has none. */
export function rowsOf(request: ReadRequest): string[] {
  switch (request.kind) {
    case 'companyMappings':
      return request.body.companies.map(({ id }) => rowOccasion(id))
    case 'frameworkAnswersUpsert':
      return request.body.companies.flatMap(({ reference, periods }) =>
        periods.flatMap(({ periodType, year, month, answers, omissions }) =>
          [...answers.map(({ dataPointId }) => dataPointId), ...omissions.map(({ questionId }) => questionId)].map(
            (id) =>
              rowOccasion('value' in reference ? reference.value : reference.companyId, id, periodType, year, month),
          ),
        ),
      )
    case 'calculatorsUpsert':
      return request.body.companies.flatMap(({ identifier, calculators }) =>
        calculators.map(({ year, month }) => rowOccasion(identifier, year, month)),
      )
    case 'companiesUpsert':
      return propertyRows(request.body.companies)
    case 'standardHoldersUpsert':
      return holderRows(request.body.holders)
    case 'consolidatedUpsert':
      return [...propertyRows(request.body.companies), ...holderRows(request.body.holders)]
    case 'calculatorsSearch':
    case 'companiesSearch':
    case 'standardsSearch':
    case 'standardHoldersSearch':
    case 'frameworkAnswersSearch':
      return []
  }
}

function propertyRows(companies: readonly { identifier: string; properties: { propertyId: string }[] }[]): string[] {
  return companies.flatMap(({ identifier, properties }) =>
    properties.map(({ propertyId }) => rowOccasion(identifier, propertyId)),
  )
}

function holderRows(holders: readonly { identifier: string; standardId: string }[]): string[] {
  return holders.map(({ identifier, standardId }) => rowOccasion(identifier, standardId))
}
