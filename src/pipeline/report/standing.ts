import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import type { Hurry } from '../../db/ask-both.ts'
import type { Database } from '../../db/database.ts'
import { batchSizes } from '../../db/ledger/batch-size.ts'
import { newestRuns, statusCounts } from '../../db/runs/listed-rows.ts'
import { pageProgress } from '../../db/runs/run-progress.ts'
import { deniedKeyInUse, skewInUse } from '../../db/service-key/service-key.ts'
import { endedTasks, receiverStanding } from '../../db/webhooks/webhook-records.ts'
import type { Deps } from '../deps.ts'
import { searchStandings } from '../pull/documents/document-reports.ts'
import { countUnrenewed } from '../pull/removals/take-removals.ts'
import { missingProperties } from '../pull/search/requested-properties.ts'
import { documentKindNames, searchKind } from '../streams/kind-names.ts'
import { silenceWords } from '../webhook-score.ts'

/** What `standingOf` finds. */
export type Standing = Awaited<ReturnType<typeof standingOf>>

/** The last run and the ledger at a glance: what `nightferry status` and `GET /v1/status` show. */
export async function standingOf(db: Database, config: Config, hurry: Hurry) {
  const [last = null] = await newestRuns(db, 1)
  const key = await deniedKeyInUse(db)
  const skew = await skewInUse(db)
  const { report: _, ...run } = last ?? { report: null }
  const searches = config.pull.searches.map(({ name }) => name)
  return {
    last_run: last === null ? null : (run as Omit<typeof last, 'report'>),
    key_refused: key === null ? null : { since: key.since, code: key.errorCode, reason: key.serviceMessage },
    service_clock: skew === null ? null : { low_ms: skew.lowMs, high_ms: skew.highMs, measured_at: skew.measuredAt },
    custom_properties: await missingProperties(db, config.pull.customPropertyIds),
    pages: last === null ? null : await pageProgress(db, last.run_id, searchKind),
    not_renewed: await countUnrenewed(db),
    webhooks: await webhookNotices({ config, db }),
    streams: await statusCounts(db, requirementsOf(config), hurry),
    searches: await searchStandings(db, searches, documentKindNames),
    request_sizes: await batchSizes(db),
  }
}

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
