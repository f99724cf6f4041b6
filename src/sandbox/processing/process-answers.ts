import { requireProperty } from '../requests/check-access.ts'
import type { AnswersRequest, CompanyReference, PeriodEntry } from '../requests/read-answers.ts'
import { isUuid } from '../requests/read-json.ts'
import type { World } from '../service-world.ts'
import type { Row } from './describe-row.ts'
import { judgeAnswer, judgeOmission, judgePeriod } from './judge-answer.ts'
import type { RowRecorder } from './record-rows.ts'
import { type Resolved, resolveCompanies } from './resolve-companies.ts'
import { type AnswerRows, createRows, storeRows } from './store-answers.ts'
import { type Failure, slices, type Work } from './work.ts'

/** How the rows of one entry name its company. */
type Named = Pick<Row, 'companyId' | 'identifier'>

/** What one entry's rows have in common. */
type Entry = { company: Resolved; named: Named }

/**
 * Stores what can be stored and reports the rest row by row. An answer that is sent again replaces the earlier one.
 * An unknown framework fails every row: nothing of the request means what its sender meant.
 */
export async function processAnswers(work: Work, request: AnswersRequest, recorder: RowRecorder): Promise<void> {
  const { pool, world, clock } = work.sandbox
  const framework = judgeFramework(world, request.frameworkId)
  for (const slice of slices(request.companies, 250, work.signal)) {
    const resolved = await resolveCompanies(
      pool,
      work,
      slice.map(({ reference }) => reference),
    )
    const rows = createRows(request.frameworkId)
    for (const [index, { reference, periods }] of slice.entries()) {
      const found = judgeReference(work, reference) ?? resolved[index]
      if (!found) continue
      const company: Resolved = framework ? { companyId: null, failure: framework } : found
      const named = nameCompany(reference, found)
      if (periods.length === 0 && company.failure) recorder.fail(named, company.failure)
      for (const period of periods) judgeRows(work, recorder, { company, named }, period, rows)
    }
    await Promise.all([storeRows(pool, rows, new Date(clock.now())), recorder.flush()])
  }
}

/** As the entry names it, so that failed rows can be told apart even where the company is nobody's. */
function nameCompany(reference: CompanyReference, { companyId }: Resolved): Named {
  if ('value' in reference) return { companyId, identifier: reference.value }
  return { companyId: isUuid(reference.companyId) ? reference.companyId : null, identifier: null }
}

/** Only a String property can name the company of an entry (specification, Framework answers upsert request). */
function judgeReference({ sandbox, profileId }: Work, reference: CompanyReference): Resolved | null {
  if ('companyId' in reference) return null
  const property = requireProperty(sandbox.world, profileId, reference.propertyId)
  if (property.type === 'String') return null
  const message = `"${reference.propertyId}" is not a String property of this key's profile.`
  return { companyId: null, failure: { reason: 'custom_property_not_usable', message } }
}

function judgeFramework(world: World, frameworkId: string | null): Failure | null {
  if (frameworkId === null || world.frameworks.some(({ id }) => id === frameworkId)) return null
  return { reason: 'framework_not_found', message: `There is no framework with the id "${frameworkId}".` }
}

function judgeRows(
  work: Work,
  recorder: RowRecorder,
  { company, named }: Entry,
  sent: PeriodEntry,
  rows: AnswerRows,
): void {
  const { contract, world } = work.sandbox
  const { companyId } = company
  const { periodType, year, month } = sent
  const row: Row = { ...named, periodType, year, month }
  const period = judgePeriod(contract, sent)
  const common: Failure | null = company.failure ?? period.failure
  if (common && sent.answers.length + sent.omissions.length === 0) recorder.fail(row, common)
  if (!common && companyId !== null && period.value) rows.assign(companyId, period.value)
  for (const { dataPointId, ...answer } of sent.answers) {
    const judged = period.value ? judgeAnswer(work.sandbox, { dataPointId, ...answer }, period.value) : null
    const failure = common ?? judged?.failure ?? null
    if (failure || companyId === null || !judged || !period.value) {
      recorder.fail({ ...row, dataPointId }, failure ?? unresolved)
      continue
    }
    recorder.accept({ ...row, dataPointId })
    rows.answer(companyId, dataPointId.toLowerCase(), period.value, judged.value, answer.unitId)
  }
  for (const { questionId } of sent.omissions) {
    const failure = common ?? judgeOmission(world, questionId)
    if (failure || companyId === null || !period.value) {
      recorder.fail({ ...row, questionId }, failure ?? unresolved)
      continue
    }
    recorder.accept({ ...row, questionId })
    rows.omit(companyId, questionId.toLowerCase(), period.value)
  }
}

const unresolved: Failure = { reason: 'company_not_found', message: 'The company was not found.' }
