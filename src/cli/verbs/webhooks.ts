import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import {
  type EndedTask,
  endedTasks,
  eventCounts,
  eventsOfApplication,
  newestApplications,
  receiverStanding,
  refusalCounts,
} from '../../db/webhooks/webhook-records.ts'
import type { Contract } from '../../exchange/contract.ts'
import { scoreOf, silenceWords, type WebhookScore } from '../../pipeline/webhook-score.ts'
import {
  areWebhooksConfigured,
  checkWebhookSettings,
  publicUrlProblem,
  secretFingerprint,
} from '../../webhooks/check-webhook-settings.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { readConfig, readContract } from '../read-config.ts'
import { duration, moment, readable } from '../show/readable.ts'
import { cutList, table } from '../show/table.ts'
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
    const tasks: EndedTask[] = standing === undefined ? [] : await endedTasks(db, tasksScored, config.webhooks.keepDays)
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

export type ApplicationsOptions = CommonOptions & { status?: string; limit: number }

/** `nightferry applications [id]`: the applications that webhooks told of, or all that they told of one. */
export async function listApplications(
  cli: Cli,
  applicationId: string | undefined,
  options: ApplicationsOptions,
): Promise<ExitCode> {
  return await withDatabase(cli, options, async ({ db }) => {
    if (applicationId !== undefined) {
      const told = await eventsOfApplication(db, applicationId, options.limit + 1)
      return printList(cli, options, told, eventTable, 'Nothing was told of that application.')
    }
    const found = await newestApplications(db, { ...options, limit: options.limit + 1 })
    return printList(cli, options, found, standings, 'No webhook told of such an application.')
  })
}

/** Prints a list that was read with one beyond its limit. */
function printList<T>(
  cli: Cli,
  options: ApplicationsOptions,
  found: readonly T[],
  asTable: (rows: T[]) => string,
  nothing: string,
): ExitCode {
  const { rows, cut } = cutList(cli, options, found)
  if (options.json) {
    printJson(cli.stdout, rows)
    return exitCodes.well
  }
  printLine(cli.stdout, rows.length === 0 ? nothing : asTable(rows))
  if (cut !== null) printLine(cli.stdout, `\n${cut}`)
  return exitCodes.well
}

function standings(found: Awaited<ReturnType<typeof newestApplications>>): string {
  return table(
    ['application', 'profile', 'status', 'since (UTC)', 'answers changed (UTC)', 'events'],
    found.map((one) => [
      one.application_id,
      one.profile_id,
      one.status,
      moment(one.status_at),
      moment(one.answers_changed_at),
      one.events,
    ]),
  )
}

function eventTable(events: Awaited<ReturnType<typeof eventsOfApplication>>): string {
  return table(
    ['happened (UTC)', 'what changed', 'status', 'came (UTC)', 'event'],
    events.map((one) => [moment(one.recorded_at), one.change, one.status, moment(one.first_at), one.event_id]),
  )
}

type WebhookStanding = {
  configured: boolean
  listening: boolean
  since: Date | null
  heard_at: Date | null
  polls_stretched: boolean
  last_event_at: Date | null
  /** Fingerprints. */
  secrets: string[]
  score: Omit<WebhookScore, 'lostTasks'>
  doubled: number
  lost: Awaited<ReturnType<typeof endedTasks>>
  refused: Awaited<ReturnType<typeof refusalCounts>>
  events: Awaited<ReturnType<typeof eventCounts>>
  warning: string | null
}

const lostShown = 20

/** What `nightferry webhooks` says to a person. */
function renderWebhooks(standing: WebhookStanding): string {
  const { score, events, refused, lost } = standing
  const parts = [
    [
      listeningLine(standing),
      `Secrets: ${standing.secrets.length === 0 ? 'none' : standing.secrets.join(', ')}.`,
      `Last event: ${moment(standing.last_event_at)} UTC. ${counted(standing.doubled, 'delivery')} of an event that was there.`,
      scoreLine(score),
      standing.polls_stretched
        ? 'Webhooks are on time, so tasks are polled less often.'
        : 'Tasks are polled as often as without webhooks.',
      ...(standing.warning === null ? [] : [readable(`${standing.warning}.`)]),
    ].join('\n'),
  ]
  if (events.length > 0) {
    parts.push(
      table(
        ['topic', 'state', 'effect', 'events', 'deliveries', 'last (UTC)'],
        events.map((e) => [e.topic, e.state, e.effect, e.events, e.deliveries, moment(e.last_at)]),
      ),
    )
  }
  if (refused.length > 0) {
    parts.push(
      table(
        ['not taken, last 7 days', 'deliveries', 'last (UTC)'],
        refused.map((r) => [r.reason, r.refused, moment(r.last_at)]),
      ),
    )
  }
  if (lost.length > 0) {
    parts.push(
      table(
        ['task that no webhook told of', 'submission', 'kind', 'ended (UTC)'],
        lost.slice(0, lostShown).map((t) => [t.correlation_id, t.submission_id, t.kind, moment(t.terminal_at)]),
      ),
    )
  }
  return parts.join('\n\n')
}

function listeningLine({ configured, listening, since, heard_at }: WebhookStanding): string {
  if (listening) return `A receiver listens since ${moment(since)} UTC.`
  const last = heard_at === null ? 'None ever did.' : `One did until ${moment(heard_at)} UTC.`
  return configured
    ? `No receiver listens: nightferry serve starts it. ${last}`
    : `Webhooks are not configured: nightferry webhooks set-up says how. ${last}`
}

function scoreLine({ onTime, late, lost, open, first, lagMs }: WebhookStanding['score']): string {
  const all = onTime + late + lost
  if (all === 0) return `Score: no task says anything yet${open > 0 ? `; ${open} ended a moment ago` : ''}.`
  const lag =
    lagMs === null
      ? ''
      : ` Events came ${lagWords(lagMs.median)} (median) and ${lagWords(lagMs.p95)} (95 of 100) their end was found.`
  return `Score: of the ${counted(all, 'newest task')} that ended, ${onTime} were told of on time (${first} before any poll), ${late} late, ${lost} not at all.${lag}`
}

function lagWords(ms: number): string {
  return ms < 0 ? `${duration(-ms)} before` : `${duration(ms)} after`
}

/**
 * What a person enters in the web application of the service so that it sends us webhooks. The specification names no
 * call for it: webhooks are configured there, not through the API.
 */
function webhookSteps(
  config: Config['webhooks'],
  topics: Contract['webhookTopics'],
  publicUrl: string | null,
): { by_api: false; url: string | null; topics: string[]; header: string | null; steps: string[] } {
  const { test: _, ...subscribable } = topics
  const names = Object.values(subscribable)
  const where = `http://${config.host}:${config.port}${config.path}`
  return {
    by_api: false,
    url: publicUrl,
    topics: names,
    header: config.headerName,
    steps: [
      'Sign in to the web application of the service as the profile whose API key Nightferry uses, and add a webhook. The API has no call for it.',
      publicUrl === null
        ? `Endpoint URL: the https address that your reverse proxy passes on to ${where}. nightferry webhooks set-up --url checks it.`
        : `Endpoint URL: ${publicUrl}, which your reverse proxy passes on to ${where}.`,
      `Topics: ${names.slice(0, 7).join(', ')}; for certifiers also ${names.slice(7).join(', ')}.`,
      config.headerName === null
        ? 'Custom header: none.'
        : `Custom header: ${config.headerName}, with the value of webhooks.headerValue.`,
      config.secrets.length === 0
        ? 'The signing secret is shown once: put it into EXCHANGE_WEBHOOK_SECRET, or a file that EXCHANGE_WEBHOOK_SECRET_FILE names, and start nightferry serve.'
        : 'The signing secret is shown once: compare its fingerprint with those that nightferry webhooks shows.',
      'Press Test. nightferry webhooks then shows an event of the topic '.concat(`${topics.test}.`),
    ],
  }
}
