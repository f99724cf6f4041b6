import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { address, document, oncePer, uuid } from './document.ts'

/** Correlation id, task, list of tasks, and the latest file of a deprecated search. */
export const taskAnswers = oncePer((contract: Contract) => {
  const { names } = contract
  const correlationId = uuid.meta({ description: 'Names the task.' })
  const common = {
    correlationId,
    status: z.enum(Object.values(contract.taskStatuses)).meta({
      description: 'A terminal status means that processing has finished, not that every item succeeded.',
    }),
    requestType: z.string().min(1).nullable().meta({ description: 'null for company mappings.' }),
    taskKind: z.enum([...new Set(Object.values(contract.taskNames).map(({ kind }) => kind))]),
    createdAt: z.iso.datetime(),
    apiKeyId: uuid.meta({ description: 'The key that submitted the request.' }),
  }
  const listed = document(names.task, common).meta({ id: 'TaskSummary' })
  const task = document(names.task, {
    ...common,
    pageUrls: z.array(address).optional().meta({ description: 'Of a finished search: one address per page.' }),
    file: document(names.task, { fileUrl: address })
      .optional()
      .meta({ description: 'Of a finished company mapping or calculator upsert: the whole result.' }),
    error: document(names.task, {
      generalErrorMessages: z.array(z.string()),
      rowErrors: z.array(rowError(contract)),
    })
      .meta({ id: 'TaskError', description: 'The rows that failed, and what cannot be said of any one row.' })
      .optional(),
  }).meta({ id: 'Task' })
  return {
    submitted: document(names.submitted, { correlationId }).meta({ id: 'Submitted' }),
    task,
    tasks: z.array(listed),
    latestFile: document(names.latestFile, { pageUrls: z.array(address) }).meta({ id: 'LatestFile' }),
  }
})

/** What a row says of itself is told as it was sent. */
function rowError(contract: Contract): z.ZodType {
  const { rowError: own, companies, standardHolders } = contract.names
  const names = { ...own, propertyId: companies.propertyId, standardId: standardHolders.standardId }
  return document(names, {
    companyId: uuid.nullable().meta({
      description: 'The id by which the row named its company, or that of the company found; null: there is neither.',
    }),
    identifiedByValue: z.string().nullable().meta({ description: 'The value by which the row named its company.' }),
    dataPointId: z.string().optional(),
    questionId: z.string().optional(),
    propertyId: z.string().optional(),
    standardId: z.string().optional(),
    periodType: z.string().optional(),
    year: z.number().nullable().optional(),
    month: z.string().optional(),
    reason: z.string().min(1).meta({ description: 'Stable.' }),
    message: z.string().min(1).meta({ description: 'For people.' }),
  }).meta({ id: 'RowError' })
}
