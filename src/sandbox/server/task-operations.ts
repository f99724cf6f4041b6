import type { Endpoint } from '../../exchange/contract.ts'
import { taskAnswers } from '../description/task-answers.ts'
import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { cancelTask } from '../tasks/move-task.ts'
import { listTasks, readTask } from '../tasks/read-tasks.ts'
import { type Operation, operation } from './operation.ts'

/** Task by id, newest tasks, cancel. A task of another profile does not exist for this one. */
export function taskOperations(sandbox: Sandbox): Operation[] {
  const { pool, contract, fileUrl } = sandbox
  const { endpoints, otherEndpoints } = contract
  const schemas = taskAnswers(contract)
  const tag = 'Tasks'
  const notFound = { 404: { description: 'The profile has no such task, or not any more.' } }
  const find = async (id = '', profileId: number) => {
    const task = isUuid(id) ? await readTask(pool, contract, { id, profileId, fileUrl }) : null
    if (task === null) throw new RequestRefused(404, 'task_not_found', `There is no task "${id}".`)
    return task
  }
  const read = (id: string, endpoint: Endpoint, deprecated: boolean) =>
    operation({
      ...endpoint,
      ...{ id, tag, deprecated },
      summary: deprecated ? 'A task (deprecated)' : 'A task',
      description:
        'Whatever was submitted, v1 or v2. Poll at an interval, not in a tight loop. A terminal status means that ' +
        'processing has finished: read the outcome of each item. Addresses of files expire; each reading gives fresh ones.\n\n' +
        'Specification: Resources, Task; States and transitions.',
      answers: { 200: { description: 'The task.', schema: schemas.task }, ...notFound },
      handle: ({ apiKey, params }) => find(params.correlationId, apiKey.profileId),
    })
  return [
    operation({
      id: 'listTasks',
      ...endpoints.tasks,
      tag,
      summary: 'The newest tasks',
      description: 'Newest first, without their results.\n\nSpecification: Endpoints.',
      answers: { 200: { description: 'The newest tasks of the profile.', schema: schemas.tasks } },
      handle: ({ apiKey }) => listTasks(pool, contract, apiKey.profileId),
    }),
    read('readTask', endpoints.task, false),
    operation({
      id: 'cancelTask',
      ...endpoints.cancelTask,
      tag,
      summary: 'Cancels a task',
      description: 'Possible until processing has started.\n\nSpecification: States and transitions.',
      answers: {
        200: { description: 'The cancelled task.', schema: schemas.task },
        ...notFound,
        409: { description: 'The task has started processing, or has ended.' },
      },
      handle: async ({ apiKey, params: { correlationId = '' } }) => {
        await find(correlationId, apiKey.profileId)
        if (!(await cancelTask(sandbox, correlationId))) {
          const message = `The task ${correlationId} has started processing, or has ended, and cannot be cancelled.`
          throw new RequestRefused(409, 'task_not_cancellable', message)
        }
        return find(correlationId, apiKey.profileId)
      },
    }),
    read('statusV1', otherEndpoints.statusV1, true),
  ]
}
