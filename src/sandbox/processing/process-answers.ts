import { catalogue } from '../catalogue.ts'
import type { AnswersRequest, PeriodEntry } from '../requests/read-answers.ts'
import type { Outcome } from '../tasks/task.ts'
import { judgeAnswer, judgeOmission, judgePeriod } from './judge-answer.ts'
import { type Resolved, resolveCompanies } from './resolve-companies.ts'
import { createRows, storeRows } from './store-answers.ts'
import { emptyOutcome, type Failure, slices, type Work } from './work.ts'

/** What one entry's rows have in common. */
type Entry = { company: Resolved; identifiedByValue: string | null }

/**
 * Stores what can be stored and reports the rest row by row. An answer that is sent again replaces the earlier one.
 * An unknown framework fails every row: nothing of the request means what its sender meant.
 */
export async function processAnswers(work: Work, request: AnswersRequest): Promise<Outcome> {
  const { pool } = work.sandbox
  const outcome = emptyOutcome()
  const framework = judgeFramework(request.frameworkId)
  for (const slice of slices(request.companies, 500, work.signal)) {
    const resolved = await resolveCompanies(
      pool,
      work.profileId,
      slice.map(({ reference }) => reference),
    )
    const rows = createRows(request.frameworkId)
    for (const [index, { reference, periods }] of slice.entries()) {
      const found = resolved[index]
      if (!found) continue
      const company: Resolved = framework ? { companyId: null, failure: framework } : found
      const identifiedByValue = 'value' in reference ? reference.value : null
      if (periods.length === 0 && company.failure) fail(work, outcome, { company, identifiedByValue }, company.failure)
      for (const period of periods) judgeRows(work, outcome, { company, identifiedByValue }, period, rows)
    }
    await storeRows(pool, rows)
  }
  return outcome
}

function judgeFramework(frameworkId: string | null): Failure | null {
  if (frameworkId === null || catalogue.frameworks.some(({ id }) => id === frameworkId)) return null
  return { reason: 'framework_not_found', message: `There is no framework with the id "${frameworkId}".` }
}

function judgeRows(
  work: Work,
  outcome: Outcome,
  entry: Entry,
  sent: PeriodEntry,
  rows: ReturnType<typeof createRows>,
): void {
  const { contract } = work.sandbox
  const { companyId } = entry.company
  const period = judgePeriod(contract, sent)
  const common: Failure | null = entry.company.failure ?? period.failure
  if (common && sent.answers.length + sent.omissions.length === 0) fail(work, outcome, entry, common, { sent })
  if (!common && companyId !== null && period.value) rows.assign(companyId, period.value)
  for (const answer of sent.answers) {
    const judged = period.value ? judgeAnswer(contract, answer, period.value) : null
    const failure = common ?? judged?.failure ?? null
    if (failure || companyId === null || !judged || !period.value) {
      fail(work, outcome, entry, failure ?? unresolved, { sent, dataPointId: answer.dataPointId })
      continue
    }
    outcome.accepted += 1
    rows.answer(companyId, answer.dataPointId, period.value, judged.value, answer.unitId)
  }
  for (const { questionId } of sent.omissions) {
    const failure = common ?? judgeOmission(questionId)
    if (failure || companyId === null || !period.value) {
      fail(work, outcome, entry, failure ?? unresolved, { sent, questionId })
      continue
    }
    outcome.accepted += 1
    rows.omit(companyId, questionId, period.value)
  }
}

const unresolved: Failure = { reason: 'company_not_found', message: 'The company was not found.' }

function fail(
  work: Work,
  outcome: Outcome,
  entry: Entry,
  failure: Failure,
  row: { sent?: PeriodEntry; dataPointId?: string; questionId?: string } = {},
): void {
  const names = work.sandbox.contract.names.rowError
  outcome.failed += 1
  outcome.rowErrors.push({
    [names.companyId]: entry.company.companyId,
    [names.identifiedByValue]: entry.identifiedByValue,
    ...(row.dataPointId !== undefined && { [names.dataPointId]: row.dataPointId }),
    ...(row.questionId !== undefined && { [names.questionId]: row.questionId }),
    ...(row.sent && {
      [names.periodType]: row.sent.periodType,
      [names.year]: row.sent.year,
      ...(row.sent.month !== null && { [names.month]: row.sent.month }),
    }),
    [names.reason]: failure.reason,
    [names.message]: failure.message,
  })
}
