import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Contract } from '../../exchange/contract.ts'
import type { Sandbox } from '../running-sandbox.ts'
import { routePath } from '../server/route-path.ts'
import { randomFrom, shuffle, shuffleKeys, withUnknownFields } from './change-document.ts'
import { fileProfile, requestProfile, taskProfile } from './profiles.ts'
import { createOccasionOf, noteStrike, strikesOn } from './struck.ts'
import { forgottenAmong } from './task-chaos.ts'

type Document = Record<string, unknown>

/**
 * Changes what stands in answers, each change after the one before it: tasks-forgotten (in the list of tasks),
 * pages-shuffled (the order of the addresses), unknown-statuses, unknown-error-codes, unknown-fields, shuffled-keys.
 */
export function changeAnswers(server: FastifyInstance, sandbox: Sandbox): void {
  const occasionOf = createOccasionOf(sandbox.contract)
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    const occasion = occasionOf(request)
    if (occasion === null || typeof payload !== 'string' || sandbox.chaos.active().size === 0) return payload
    const before: unknown = JSON.parse(payload)
    const after = await changed(sandbox, request, reply, occasion, before)
    return after === before ? payload : JSON.stringify(after)
  })
}

async function changed(
  sandbox: Sandbox,
  request: FastifyRequest,
  reply: FastifyReply,
  occasion: string,
  before: unknown,
): Promise<unknown> {
  const { chaos } = sandbox
  const struck = strikesOn(request) ?? []
  let answer = await withoutForgotten(sandbox, request, before)
  answer = withShuffledPages(sandbox, request, occasion, answer)
  answer = withUnknownStatuses(sandbox, request, occasion, answer)
  if (reply.statusCode >= 400) answer = withUnknownErrorCode(sandbox, request, occasion, answer)
  if (struck.includes(requestProfile.unknownFields.name)) answer = withUnknownFields(answer)
  if (struck.includes(requestProfile.shuffledKeys.name)) {
    answer = shuffleKeys(answer, randomFrom(chaos.measure(requestProfile.shuffledKeys.name, occasion)))
  }
  return answer
}

/** The list of tasks without those that the service has forgotten. */
async function withoutForgotten(sandbox: Sandbox, request: FastifyRequest, answer: unknown): Promise<unknown> {
  const { contract } = sandbox
  if (request.routeOptions.url !== routePath(contract.endpoints.tasks.path) || !Array.isArray(answer)) return answer
  const idOf = (task: Document) => String(task[contract.names.task.correlationId])
  const tasks = answer as Document[]
  const forgotten = await forgottenAmong(sandbox, tasks.map(idOf))
  if (forgotten.size === 0) return answer
  noteStrike(request, taskProfile.tasksForgotten.name)
  return tasks.filter((task) => !forgotten.has(idOf(task)))
}

function withShuffledPages(sandbox: Sandbox, request: FastifyRequest, occasion: string, answer: unknown): unknown {
  const { chaos, contract } = sandbox
  const { pageUrls } = contract.names.task
  const urls = isDocument(answer) ? answer[pageUrls] : undefined
  if (!isDocument(answer) || !Array.isArray(urls) || urls.length < 2) return answer
  if (!chaos.strikes(fileProfile.pagesShuffled.name, occasion)) return answer
  noteStrike(request, fileProfile.pagesShuffled.name)
  return { ...answer, [pageUrls]: shuffle(urls, randomFrom(chaos.measure(fileProfile.pagesShuffled.name, occasion))) }
}

const unknownStatuses = ['Validating', 'WaitingForCapacity', 'Archiving']

/** Only of tasks in flight: an end that looks like none would be a task that is stuck. */
function withUnknownStatuses(sandbox: Sandbox, request: FastifyRequest, occasion: string, answer: unknown): unknown {
  const { chaos, contract } = sandbox
  const { status } = contract.names.task
  const { pending, scheduled, inProgress } = contract.taskStatuses
  const inFlight: unknown[] = [pending, scheduled, inProgress]
  const isInFlight = (task: unknown) => isDocument(task) && inFlight.includes(task[status])
  const tasks: unknown[] = Array.isArray(answer) ? answer : [answer]
  const { name } = requestProfile.unknownStatuses
  if (!showsTasks(contract, request) || !tasks.some(isInFlight) || !chaos.strikes(name, occasion)) return answer
  noteStrike(request, name)
  const other = unknownStatuses[Math.floor(chaos.measure(name, occasion) * unknownStatuses.length)]
  const renamed = tasks.map((task) => (isDocument(task) && isInFlight(task) ? { ...task, [status]: other } : task))
  return Array.isArray(answer) ? renamed : renamed[0]
}

function showsTasks({ endpoints, otherEndpoints }: Contract, { routeOptions: { url } }: FastifyRequest): boolean {
  const shown = [endpoints.task, endpoints.tasks, endpoints.cancelTask, otherEndpoints.statusV1]
  return shown.some(({ path }) => routePath(path) === url)
}

function withUnknownErrorCode(sandbox: Sandbox, request: FastifyRequest, occasion: string, answer: unknown): unknown {
  const { chaos, contract } = sandbox
  const { name } = requestProfile.unknownErrorCodes
  if (!isDocument(answer) || !chaos.strikes(name, occasion)) return answer
  noteStrike(request, name)
  return { ...answer, [contract.names.error.errorCode]: `introduced_later_${String(request.method).toLowerCase()}` }
}

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
