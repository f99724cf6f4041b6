import { inTransaction, type Sandbox } from '../running-sandbox.ts'
import { asBulkRequest } from '../tasks/sandbox-task.ts'
import { recordTaskEvents } from '../webhooks/record-event.ts'
import { isStruck, logTaskChaos } from './task-chaos.ts'
import { taskProfile } from './task-profiles.ts'

/**
 * Re-queues what is struck among the tasks that have been Pending since `before` or longer: each enters Pending once
 * more, and this time it fires. To be called before scheduling.
 * @returns the ids of the tasks that it looked at: only these may be scheduled now, since others can be committed
 *   meanwhile and would go unseen. null: the profile is off, and any may.
 */
export async function repeatPending(sandbox: Sandbox, before: Date): Promise<string[] | null> {
  const profile = taskProfile.pendingRepeated
  if (!sandbox.chaos.active().has(profile.name)) return null
  const { rows } = await sandbox.pool.query<{
    id: string
    sequence: string
    request: string
    profile_id: number
    api_key_id: string
  }>(
    `select id, sequence, request, profile_id, api_key_id from sandbox.task
     where status = 'pending' and created_at <= $1 order by sequence`,
    [before],
  )
  for (const row of rows.filter((task) => isStruck(sandbox, profile, task))) {
    const event = {
      correlationId: row.id,
      request: asBulkRequest(row.request),
      status: 'pending',
      profileId: row.profile_id,
      apiKeyId: row.api_key_id,
    } as const
    const { urgent } = await inTransaction(sandbox.pool, (client) => recordTaskEvents(client, sandbox, [event]))
    if (urgent) sandbox.webhooks.wake()
    await logTaskChaos(sandbox, profile, row.id)
  }
  return rows.map(({ id }) => id)
}
