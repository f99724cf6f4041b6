import { endedTasks } from '../../db/webhooks/ended-tasks.ts'
import { receiverStanding } from '../../db/webhooks/receiver-standing.ts'
import type { Deps } from '../deps.ts'
import { silenceWords } from '../webhook-score.ts'

/** Enough to say that none was told of. */
const tasksRead = 100

/** That webhooks are configured and none come. Nothing is lost by it: polls find the end of every task. */
export async function webhookNotices({ config, db }: Pick<Deps, 'config' | 'db'>): Promise<string[]> {
  if (config.webhooks.secrets.length === 0) return []
  const standing = await receiverStanding(db)
  const tasks = standing === undefined ? [] : await endedTasks(db, tasksRead)
  const words = silenceWords(tasks, standing?.listening ?? false)
  return words === null ? [] : [`${words}.`]
}
