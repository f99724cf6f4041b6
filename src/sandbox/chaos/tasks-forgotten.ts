import type { FastifyRequest } from 'fastify'
import { RequestRefused } from '../request-refused.ts'
import { isUuid } from '../requests/read-json.ts'
import type { Sandbox } from '../running-sandbox.ts'
import type { Refusal } from './refuse-request.ts'
import { taskOccasion, taskProfile } from './task-profiles.ts'

const { name } = taskProfile.tasksForgotten

/** 404 for a request about a task that the service has forgotten, though it works on it as on any other. */
export async function forgetsTaskOf(sandbox: Sandbox, request: FastifyRequest): Promise<Refusal | null> {
  const id = (request.params as { correlationId?: string } | undefined)?.correlationId
  if (!isUuid(id) || (await forgottenAmong(sandbox, [id])).size === 0) return null
  const refused = new RequestRefused(404, 'task_not_found', `There is no task "${id}".`)
  return { name, refuse: () => refused }
}

/** The tasks among these that are forgotten, by correlation id. */
export async function forgottenAmong({ pool, chaos }: Sandbox, ids: readonly string[]): Promise<Set<string>> {
  if (!chaos.active().has(name) || ids.length === 0) return new Set()
  const { rows } = await pool.query<{ id: string; sequence: string }>(
    'select id, sequence from sandbox.task where id = any($1::uuid[])',
    [ids],
  )
  return new Set(rows.filter(({ sequence }) => chaos.fate(name, taskOccasion(sequence))).map(({ id }) => id))
}
