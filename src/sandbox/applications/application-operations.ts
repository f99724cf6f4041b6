import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { document, oncePer, uuid } from '../description/document.ts'
import { RequestRefused } from '../request-refused.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'
import { applicationStatuses, describeApplication } from './application.ts'
import { answersBody, statusBody } from './application-bodies.ts'
import { changeAnswers, changeStatus } from './change-application.ts'
import { describeAnswers, findApplication, listApplications } from './read-applications.ts'

const notFound = { description: 'The profile owns no such application.' }

/**
 * Certification applications, in the smallest form that lets application events exist. An application that another
 * profile owns does not exist for this one. Spec gap: paths and bodies are not shown, docs/spec-gaps.md.
 */
export function applicationOperations(sandbox: Sandbox): Operation[] {
  const { pool, contract } = sandbox
  const { applications, application, applicationStatus, applicationAnswers, applicationAnswersUpdate } =
    contract.otherEndpoints
  const documents = applicationDocuments(contract)
  const tag = 'Applications'
  const find = async (id = '', profileId: number) => {
    const found = await findApplication(pool, id, { profileId, groupIds: [] })
    if (!found) throw new RequestRefused(404, 'application_not_found', `There is no application "${id}".`)
    return found
  }
  return [
    operation({
      id: 'listApplications',
      ...applications,
      tag,
      summary: 'Applications',
      answers: { 200: { description: 'The applications that the profile owns.', schema: documents.applications } },
      handle: async ({ apiKey }) =>
        (await listApplications(pool, apiKey.profileId)).map((one) => describeApplication(contract, one)),
    }),
    operation({
      id: 'readApplication',
      ...application,
      tag,
      summary: 'An application',
      answers: { 200: { description: 'The application.', schema: documents.application }, 404: notFound },
      handle: async ({ apiKey, params }) =>
        describeApplication(contract, await find(params.applicationId, apiKey.profileId)),
    }),
    operation({
      id: 'setApplicationStatus',
      ...applicationStatus,
      tag,
      summary: 'Sets the status of an application',
      description: 'The status that the application has already is no change, and fires no event.',
      body: statusBody(contract.names.application),
      answers: { 200: { description: 'The application as it is now.', schema: documents.application }, 404: notFound },
      handle: async ({ apiKey, params, body }) => {
        const found = await find(params.applicationId, apiKey.profileId)
        return describeApplication(contract, await changeStatus(sandbox, found, body.status))
      },
    }),
    operation({
      id: 'readApplicationAnswers',
      ...applicationAnswers,
      tag,
      summary: 'The answers of an application',
      answers: { 200: { description: 'The answers.', schema: documents.answers }, 404: notFound },
      handle: async ({ apiKey, params }) => {
        const { id } = await find(params.applicationId, apiKey.profileId)
        return describeAnswers(sandbox, id)
      },
    }),
    operation({
      id: 'writeApplicationAnswers',
      ...applicationAnswersUpdate,
      tag,
      summary: 'Writes answers of an application',
      description: 'Replaces the answers to the data points that are named; all of them or, if one is wrong, none.',
      body: answersBody(contract, contract.names.application),
      answers: { 200: { description: 'All answers as they are now.', schema: documents.answers }, 404: notFound },
      handle: async ({ apiKey, params, body }) => {
        const found = await find(params.applicationId, apiKey.profileId)
        await changeAnswers(sandbox, found, body.answers)
        return describeAnswers(sandbox, found.id)
      },
    }),
  ]
}

/** An application, the list of them, and an application's answers. Spec gap: none is shown, docs/spec-gaps.md. */
const applicationDocuments = oncePer(({ names: { application: names } }: Contract) => {
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
