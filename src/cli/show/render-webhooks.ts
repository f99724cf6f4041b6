import type { Config } from '../../config/schema.ts'
import type { endedTasks } from '../../db/webhooks/ended-tasks.ts'
import type { eventCounts, refusalCounts } from '../../db/webhooks/listed-events.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { WebhookScore } from '../../pipeline/webhook-score.ts'
import { counted, duration, moment, readable } from './readable.ts'
import { table } from './table.ts'

export type WebhookStanding = {
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
export function renderWebhooks(standing: WebhookStanding): string {
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
export function webhookSteps(
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
