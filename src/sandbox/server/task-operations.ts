import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../sandbox.ts'
import { cancelTask } from '../tasks/move-task.ts'
import { listTasks, readTask } from '../tasks/read-tasks.ts'
import { type Operation, operation } from './operation.ts'

/** Task by id, newest tasks, cancel. A task of another profile does not exist for this one. */
export function taskOperations(sandbox: Sandbox): Operation[] {
  const { pool, contract, fileUrl } = sandbox
  const { endpoints } = contract
  const tag = 'Tasks'
  const find = async (id = '', profileId: number) => {
    const task = isUuid(id) ? await readTask(pool, contract, { id, profileId, fileUrl }) : null
    if (task === null) throw new RequestRefused(404, 'task_not_found', `There is no task "${id}".`)
    return task
  }
  return [
    operation({
      id: 'listTasks',
      ...endpoints.tasks,
      tag,
      summary: 'The newest tasks',
      answers: { 200: { description: 'The newest tasks of the profile, without their results.' } },
      handle: ({ apiKey }) => listTasks(pool, contract, apiKey.profileId),
    }),
    operation({
      id: 'readTask',
      ...endpoints.task,
      tag,
      summary: 'A task',
      answers: { 200: { description: 'The task.' } },
      handle: ({ apiKey, params }) => find(params.correlationId, apiKey.profileId),
    }),
    operation({
      id: 'cancelTask',
      ...endpoints.cancelTask,
      tag,
      summary: 'Cancels a task that has not started processing',
      answers: { 200: { description: 'The cancelled task.' } },
      handle: async ({ apiKey, params: { correlationId = '' } }) => {
        await find(correlationId, apiKey.profileId)
        if (!(await cancelTask(sandbox, correlationId))) {
          const message = `The task ${correlationId} has started processing, or has ended, and cannot be cancelled.`
          throw new RequestRefused(409, 'task_not_cancellable', message)
        }
        return find(correlationId, apiKey.profileId)
      },
    }),
  ]
}
