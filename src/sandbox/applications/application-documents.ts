import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { document, oncePer, uuid } from '../description/document.ts'
import { applicationStatuses } from './application.ts'

/** An application, the list of them, and an application's answers. Spec gap: none is shown, docs/spec-gaps.md. */
export const applicationDocuments = oncePer(({ names: { application: names } }: Contract) => {
  const application = document(names, {
    id: uuid,
    status: z.enum(applicationStatuses.map((status) => names[status])),
    standardId: uuid.meta({ description: 'The standard that is applied for.' }),
    companyId: uuid.meta({ description: 'The applicant.' }),
    createdAt: z.iso.datetime(),
  }).meta({ id: 'Application' })
  const answer = document(names, {
    dataPointId: uuid,
    answer: z.looseObject({}).meta({ minProperties: 1, description: 'As in the framework answers upsert.' }),
  }).meta({ id: 'ApplicationAnswer' })
  return {
    application,
    applications: z.array(application),
    answers: document(names, { answers: z.array(answer) }).meta({ id: 'ApplicationAnswers' }),
  }
})
