import type { FastifyInstance } from 'fastify'
import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../sandbox.ts'
import { cancelTask } from '../tasks/move-task.ts'
import { listTasks, readTask } from '../tasks/read-tasks.ts'
import { authenticate } from './authenticate.ts'
import { routePath } from './route-path.ts'

type ByCorrelationId = { Params: { correlationId: string } }

/** Task by id, newest tasks, cancel. A task of another profile does not exist for this one. */
export function addTaskRoutes(server: FastifyInstance, sandbox: Sandbox, origin: () => string): void {
  const { pool, contract } = sandbox
  const { endpoints } = contract
  const find = async (id: string, profileId: number) => {
    const fileUrl = (token: string) => `${origin()}/files/${token}`
    const task = isUuid(id) ? await readTask(pool, contract, { id, profileId, fileUrl }) : null
    if (task === null) throw new RequestRefused(404, 'task_not_found', `There is no task "${id}".`)
    return task
  }
  server.get(endpoints.tasks.path, (request) => listTasks(pool, contract, authenticate(request).profileId))
  server.get<ByCorrelationId>(routePath(endpoints.task.path), (request) =>
    find(request.params.correlationId, authenticate(request).profileId),
  )
  server.route<ByCorrelationId>({
    method: endpoints.cancelTask.method,
    url: routePath(endpoints.cancelTask.path),
    handler: async (request) => {
      const { profileId } = authenticate(request)
      const { correlationId } = request.params
      await find(correlationId, profileId)
      if (!(await cancelTask(sandbox, correlationId))) {
        const message = `The task ${correlationId} has started processing, or has ended, and cannot be cancelled.`
        throw new RequestRefused(409, 'task_not_cancellable', message)
      }
      return find(correlationId, profileId)
    },
  })
}
