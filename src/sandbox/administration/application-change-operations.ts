import { z } from 'zod'
import { answersBody, statusBody } from '../applications/application-bodies.ts'
import { changeAnswers, changeStatus } from '../applications/change-application.ts'
import { findApplication } from '../applications/read-applications.ts'
import { RequestRefused } from '../request-refused.ts'
import { groupIdsOf } from '../requests/check-access.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { type Operation, operation } from '../server/operation.ts'

const bodyNames = { status: 'status', answers: 'answers', dataPointId: 'dataPointId', answer: 'answer' }
const changed = { 200: { description: 'Done.', schema: z.object({ applicationId: z.guid() }) } }

/**
 * Changes of applications that do not come through the service's API: by the owner in the web application, with a key
 * of the owning profile, or by the applicant, with a key of a profile that has the applying company in a group.
 */
export function applicationChangeOperations(sandbox: Sandbox): Operation[] {
  const { pool, contract, world } = sandbox
  const tag = 'Applications'
  const answers = { ...changed, 404: { description: 'No application that the profile owns or has made.' } }
  const find = async (id = '', profileId: number) => {
    const found = await findApplication(pool, id, { profileId, groupIds: groupIdsOf(world, profileId) })
    if (!found) throw new RequestRefused(404, 'application_not_found', `There is no application "${id}".`)
    return found
  }
  return [
    operation({
      id: 'changeApplicationStatus',
      method: 'PUT',
      path: '/sandbox/applications/{applicationId}/status',
      tag,
      summary: 'Changes the status of an application, as in the web application or by the applicant',
      body: statusBody(bodyNames),
      answers,
      handle: async ({ apiKey, params, body }) => {
        const found = await find(params.applicationId, apiKey.profileId)
        await changeStatus(sandbox, found, body.status)
        return { applicationId: found.id }
      },
    }),
    operation({
      id: 'changeApplicationAnswers',
      method: 'PUT',
      path: '/sandbox/applications/{applicationId}/answers',
      tag,
      summary: 'Changes answers of an application, as in the web application or by the applicant',
      body: answersBody(contract, bodyNames),
      answers,
      handle: async ({ apiKey, params, body }) => {
        const found = await find(params.applicationId, apiKey.profileId)
        await changeAnswers(sandbox, found, body.answers)
        return { applicationId: found.id }
      },
    }),
  ]
}
