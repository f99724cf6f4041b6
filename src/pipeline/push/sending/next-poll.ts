import type { Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { webhookTrust } from '../../../db/webhooks/webhook-trust.ts'
import type { Deps } from '../../deps.ts'
import { pollInMs, stretchedPollInMs } from '../../when-to-look.ts'

/** Milliseconds until a task is polled again: later while webhooks are on time, which then bring the look. */
export async function nextPollInMs(
  { config }: Pick<Deps, 'config'>,
  trx: Transaction<Schema>,
  submissionId: number,
  polls: number,
): Promise<number> {
  const { pollIntervalMs: intervalMs } = config.exchange
  const { secrets, pollStretch: stretch, maxPollIntervalMs: longestMs } = config.webhooks
  if (secrets.length === 0 || stretch === 1) return pollInMs(intervalMs, polls)
  return stretchedPollInMs({ intervalMs, stretch, longestMs }, polls, await webhookTrust(trx, submissionId))
}
