import { type EndedTask, endedTasks } from '../../db/webhooks/ended-tasks.ts'
import { eventCounts, refusalCounts } from '../../db/webhooks/listed-events.ts'
import { receiverStanding } from '../../db/webhooks/receiver-standing.ts'
import { scoreOf, silenceWords } from '../../pipeline/webhook-score.ts'
import {
  areWebhooksConfigured,
  checkWebhookSettings,
  publicUrlProblem,
  secretFingerprint,
} from '../../webhooks/check-webhook-settings.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { readConfig, readContract } from '../read-config.ts'
import { readable } from '../show/readable.ts'
import { renderWebhooks, type WebhookStanding, webhookSteps } from '../show/render-webhooks.ts'
import { withDatabase } from '../with-database.ts'

export type WebhooksOptions = CommonOptions & { url?: string }

/** The newest tasks that the score is about. */
const tasksScored = 200

/** Refusals of so many days are counted. */
const refusalDays = 7

/** `nightferry webhooks [set-up]`: what webhooks brought and how well they do; or what to enter at the service. */
export async function webhooks(cli: Cli, what: 'set-up' | undefined, options: WebhooksOptions): Promise<ExitCode> {
  if (what === 'set-up') return setUp(cli, options)
  if (options.url !== undefined) throw new UsageError('--url belongs to nightferry webhooks set-up')
  return await withDatabase(cli, options, async ({ db }, config) => {
    const standing = await receiverStanding(db)
    const tasks: EndedTask[] = standing === undefined ? [] : await endedTasks(db, tasksScored)
    const events = await eventCounts(db)
    const { lostTasks: lost, ...score } = scoreOf(tasks)
    const configured = areWebhooksConfigured(config.webhooks)
    const listening = standing?.listening ?? false
    const shown: WebhookStanding = {
      configured,
      listening,
      since: standing?.since ?? null,
      heard_at: standing?.heard_at ?? null,
      polls_stretched: configured && listening && (standing?.trusted ?? false) && config.webhooks.pollStretch > 1,
      last_event_at: events.reduce<Date | null>((last, { last_at }) => (last && last > last_at ? last : last_at), null),
      secrets: config.webhooks.secrets.map(secretFingerprint),
      score,
      doubled: events.reduce((sum, { events: once, deliveries }) => sum + deliveries - once, 0),
      lost,
      refused: await refusalCounts(db, refusalDays),
      events,
      warning: configured ? silenceWords(tasks, listening) : null,
    }
    if (options.json) printJson(cli.stdout, shown)
    else printLine(cli.stdout, renderWebhooks(shown))
    return shown.warning === null ? exitCodes.well : exitCodes.partial
  })
}

/** Says what to enter, and changes nothing, here or there: it can be called any number of times. */
function setUp(cli: Cli, options: WebhooksOptions): ExitCode {
  const config = readConfig(cli, options)
  const contract = readContract(cli, config)
  checkWebhookSettings(config.webhooks, contract)
  const problem = options.url === undefined ? null : publicUrlProblem(options.url)
  if (problem !== null) throw new UsageError(`--url ${problem}; the service would not take it for a webhook`)
  const shown = webhookSteps(config.webhooks, contract.webhookTopics, options.url ?? null)
  if (options.json) printJson(cli.stdout, shown)
  else for (const [place, step] of shown.steps.entries()) printLine(cli.stdout, readable(`${place + 1}. ${step}`))
  return exitCodes.well
}
