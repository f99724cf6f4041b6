import { RequestRefused } from '../request-refused.ts'
import type { AnswersRequest } from '../requests/read-answers.ts'
import type { ReadRequest } from '../requests/read-bulk-request.ts'
import type { Sandbox } from '../running-sandbox.ts'
import type { Outcome, StartedTask } from '../tasks/sandbox-task.ts'
import type { Chaos } from './chaos.ts'
import { rowsNotAccepted, taskProfile } from './profiles.ts'
import { logTaskChaos } from './task-chaos.ts'

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
function rowsOf(request: ReadRequest): string[] {
  switch (request.kind) {
    case 'companyMappings':
      return request.body.companies.map(({ id }) => rowOccasion(id))
    case 'frameworkAnswersUpsert':
      return request.body.companies.flatMap(answerRows)
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

function answerRows({ reference, periods }: AnswersRequest['companies'][number]): string[] {
  const company = 'value' in reference ? reference.value : reference.companyId.toLowerCase()
  return periods.flatMap(({ periodType, year, month, answers, omissions }) => {
    const ids = [...answers.map(({ dataPointId }) => dataPointId), ...omissions.map(({ questionId }) => questionId)]
    return ids.map((id) => rowOccasion(company, id.toLowerCase(), periodType, year, month))
  })
}

function propertyRows(companies: readonly { identifier: string; properties: { propertyId: string }[] }[]): string[] {
  return companies.flatMap(({ identifier, properties }) =>
    properties.map(({ propertyId }) => rowOccasion(identifier, propertyId.toLowerCase())),
  )
}

function holderRows(holders: readonly { identifier: string; standardId: string }[]): string[] {
  return holders.map(({ identifier, standardId }) => rowOccasion(identifier, standardId.toLowerCase()))
}

const refusals = {
  '400': { status: 400, code: 'request_invalid' },
  '422': { status: 422, code: 'request_unprocessable' },
} as const

/**
 * The refusal of an import that holds a refused row, and the name under which the log has it; no row is named. The same
 * row has the same fate in every request. Cases that were asked for by name come first. Null where it holds none.
 */
export function refusalOverRows(chaos: Chaos, request: ReadRequest): { name: string; refused: RequestRefused } | null {
  const { any, cases } = rowsNotAccepted
  const active = chaos.active()
  if (![any, ...cases.values()].some(({ name }) => active.has(name))) return null
  const rows = rowsOf(request)
  for (const [status, { name }] of cases) {
    if (rows.some((row) => chaos.fate(name, row))) return { name, refused: refusal(status) }
  }
  const row = rows.find((one) => chaos.fate(any.name, one))
  if (row === undefined) return null
  const status = chaos.fate(any.name, `${row} 400`) ? '400' : '422'
  return { name: cases.get(status)?.name ?? any.name, refused: refusal(status) }
}

function refusal(of: keyof typeof refusals): RequestRefused {
  const { status, code } = refusals[of]
  return new RequestRefused(status, code, 'Something in the request cannot be accepted.')
}
