import type { Transaction } from 'kysely'
import { outcomesFromErrors, type Questions } from '../../../db/ledger/error-outcomes.ts'
import type { RowOutcome } from '../../../db/ledger/settle-outcomes.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission-tables.ts'
import type { Task } from '../../../exchange/task.ts'
import type { Deps } from '../../deps.ts'
import { loadReferenceIndex } from '../../streams/rules/reference-index.ts'
import { namedError } from './judge-error.ts'

/** What the error rows of a task say of a submission's rows: `outcomesFromErrors`, with the questions of answers. */
export async function outcomesOfErrors(
  { contract }: Pick<Deps, 'contract'>,
  trx: Transaction<Schema>,
  { submission_id }: Pick<Submission, 'submission_id'>,
  task: Task,
  unnamed: RowOutcome,
): ReturnType<typeof outcomesFromErrors> {
  const errors = task.rowErrors.map((error) => namedError(contract, error))
  const byQuestion = errors.some((error) => error.question_id !== null)
  return await outcomesFromErrors(trx, submission_id, errors, unnamed, byQuestion ? await questionsOf(trx) : [])
}

async function questionsOf(trx: Transaction<Schema>): Promise<Questions> {
  const { dataPoints } = await loadReferenceIndex(trx)
  return [...dataPoints.values()].flatMap(({ id, questionId }) =>
    questionId === null ? [] : [{ data_point_id: id, question_id: questionId }],
  )
}
