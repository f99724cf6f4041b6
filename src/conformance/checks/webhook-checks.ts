import { administer } from '../evidence/administration.ts'
import { changeApplication } from '../evidence/applications.ts'
import { finish, submit } from '../evidence/task-run.ts'
import { eventsAt, eventsOf, eventsOfTasks, setUp } from '../evidence/webhook-evidence.ts'
import { webhookRules } from '../evidence/webhook-rules.ts'
import { customHeader, deliveriesOf } from '../evidence/webhook-set-up.ts'
import {
  cadence,
  fullProfile,
  ladder,
  ladderMinutes,
  logAfterAMonth,
  rotation,
  testButton,
  trials,
} from '../evidence/webhook-trials.ts'
import { faultless, judged, notObserved, together } from '../observation.ts'
import type { Answer } from '../wire.ts'
import { at, isObject, isTaken, isUuid, objectsOf, said, textOf, type WireObject } from '../wire-json.ts'
import { type Checks, givenEvents } from './check.ts'
import { everyEnd, headerOnAll } from './judge-events.ts'

/** Specification, Webhook, and Delivery and retries. */
export const webhookChecks: Checks<'webhook' | 'delivery'> = {
  'webhook/url': givenEvents(webhookRules, ({ addresses, publicAddress, always, longest }) => {
    const silent = Object.values(addresses).some(({ status }) => status === 404)
    const judgedAddresses = silent
      ? notObserved('HTTPS and public addresses are not judged: the sandbox runs with --allow-insecure-webhooks')
      : faultless(notRefused(addresses), `refused: ${Object.keys(addresses).join(', ')}`)
    const refused = faultless(notRefused(always), `refused: ${Object.keys(always).join(', ')}`)
    const taken = judged(
      silent || at(publicAddress.json, 'refused') === null,
      'a public one is taken',
      'a public one is refused',
    )
    return together(
      judgedAddresses,
      taken,
      refused,
      judged(longest.status === 200, `2048 characters answered ${longest.status}`),
    )
  }),
  'webhook/topics': givenEvents(webhookRules, ({ noTopics }) =>
    judged(noTopics.status === 400, `none answered ${noTopics.status}`),
  ),
  'webhook/custom-header': givenEvents(setUp, async (opened, bench) => {
    const { reservedHeaders } = await webhookRules(bench)
    const { json } = await administer(bench, 'GET', `webhooks/${opened.main.id}`)
    const hidden = !JSON.stringify([json, opened.main.created]).includes(customHeader.value)
    return together(
      await headerOnAll(bench),
      judged(hidden, hidden ? 'its value is not shown again' : 'its value can be read back'),
      faultless(notRefused(reservedHeaders), 'reserved names refused'),
    )
  }),
  'webhook/secret': givenEvents(setUp, async ({ main }, bench) => {
    const { secret, former } = await rotation(bench)
    const { json } = await administer(bench, 'GET', `webhooks/${main.id}`)
    const shown = main.secrets.some((one) => JSON.stringify(json).includes(one))
    const prefixed = main.secrets.every((one) => one.startsWith('whsec_'))
    const faults = [
      ...(prefixed ? [] : ['one begins with something else than whsec_']),
      ...(shown ? ['reading the webhook shows it'] : []),
      ...(secret === null ? ['rotation shows none'] : []),
      ...(secret === former ? ['rotation gave the old one again'] : []),
    ]
    return faultless(
      faults,
      `${main.secrets.length} with the prefix: at creation, a new one at rotation, none when read`,
    )
  }),
  'webhook/enabled': givenEvents(testButton, ({ before, after, whileDisabled }) => {
    const same = JSON.stringify(before) === JSON.stringify(after)
    return judged(
      same && whileDisabled === 0,
      `${whileDisabled} events while disabled; enabled again, its configuration ${same ? 'as before' : 'differs'}`,
    )
  }),
  'webhook/ownership': givenEvents(setUp, async (opened, bench) => {
    const changes = await changeApplication(bench)
    if (typeof changes === 'string') return notObserved(changes)
    const run = await submit(bench, 'standardsSearch', bench.contract.endpoints.standardsSearch, {})
    await finish(bench, [run])
    const own = await eventsOf(bench, run)
    const { correlationId } = bench.contract.names.bulkEvent
    const others = eventsAt(bench, opened, '/certifier').filter(({ data }) => data[correlationId] !== undefined)
    return judged(
      own.length > 0 && others.length === 0,
      `${own.length} events of a search to its own profile, ${others.length} to another`,
    )
  }),
  'webhook/count': givenEvents(fullProfile, ({ count, refused }) =>
    judged(count === 5 && refused !== null, `${count}, then: ${refused ?? 'no refusal'}`),
  ),

  'delivery/success': givenEvents(setUp, async ({ main }, bench) => {
    await eventsOfTasks(bench)
    const log = await deliveriesOf(bench, main)
    const delivered = log.filter(({ status }) => status === 'delivered')
    const refused = log.filter(
      ({ status, attempts }) =>
        status !== 'delivered' && objectsOf(attempts).some(({ httpStatus }) => isTaken(Number(httpStatus))),
    )
    const excerpt = textOf(objectsOf(delivered[0]?.attempts)[0]?.responseExcerpt)
    return judged(
      delivered.length > 0 && refused.length === 0 && excerpt !== null,
      `200 with HTML: ${delivered.length} delivered, ${refused.length} not, logged as ${excerpt ?? 'nothing'}`,
    )
  }),
  'delivery/redirects': givenEvents(trials, ({ redirected, followed }) => {
    const status = firstAttempt(redirected)?.httpStatus
    return judged(
      status === 307 && followed === 0 && redirected?.status === 'queued',
      `${said(status)}: followed ${followed} times, ${said(redirected?.status)} for another attempt`,
    )
  }),
  'delivery/ladder': givenEvents(ladder, ({ arrivals, logged, cameLater }) => {
    const gaps = gapsOf(arrivals)
    const onTime =
      gaps.length === ladderMinutes.length &&
      gaps.every((gap, at) => gap >= (ladderMinutes[at] ?? 0) && gap < (ladderMinutes[at] ?? 0) + dispatchMinutes)
    const came = judged(onTime, `${arrivals.length} attempts, after ${shown(gaps)} minutes`)
    const agreed = gapsOf(logged).every((gap, at) => Math.abs(gap - (gaps[at] ?? 0)) < agreedMinutes)
    const log = judged(
      agreed && logged.length === arrivals.length && cameLater === arrivals.length,
      'the log says so too',
      `the log has ${logged.length}, after ${shown(gapsOf(logged))} minutes; ${cameLater} came`,
    )
    return together(came, log)
  }),
  'delivery/after-sixth': givenEvents(ladder, ({ delivery, attemptsLater, enabled }) =>
    judged(
      delivery?.status === 'failed' && attemptsLater === 6 && enabled === true,
      `${said(delivery?.status)}, ${attemptsLater} attempts a day later, webhook ${enabled === true ? 'enabled' : 'disabled'}`,
    ),
  ),
  'delivery/guarantee': givenEvents(ladder, async ({ received }, bench) => {
    const { id } = bench.contract.names.webhookEvent
    const ids = new Set(received.map(({ envelope }) => envelope[id]))
    const again = judged(
      received.length > 1 && ids.size === 1 && [...ids].every(isUuid),
      `one event came ${received.length} times under ${ids.size} id`,
    )
    return together(await everyEnd(bench), again)
  }),
  'delivery/cadence': givenEvents(cadence, (waits) => {
    if (waits.length === 0) return notObserved('no event was delivered while the clock ran fast')
    const longest = Math.max(...waits.map(({ recorded, sent }) => sent - recorded)) / 1000
    const times = waits.map(({ sent }) => sent).toSorted((a, b) => a - b)
    // A dispatch sends for a while: what counts is how far their beginnings are apart.
    const begins = times.filter((time, at) => at === 0 || time - (times[at - 1] ?? time) > 25_000)
    const gaps = begins.slice(1).map((time, at) => (time - (begins[at] ?? time)) / 1000)
    const kept = longest <= 90 && gaps.length > 0 && Math.min(...gaps) >= 45
    return judged(
      kept,
      `${waits.length} events waited ${Math.round(longest)} s at most; dispatches with events were ${Math.round(Math.min(...gaps))} s or more apart`,
    )
  }),
  'delivery/log': givenEvents(ladder, async ({ delivery, resent, attemptsLater }, bench) => {
    const attempt = firstAttempt(delivery)
    const told =
      typeof attempt?.httpStatus === 'number' && typeof attempt.latencyMs === 'number' && isObject(delivery?.payload)
    const { before, kept, after } = await logAfterAMonth(bench)
    return together(
      judged(told, `attempts with code ${said(attempt?.httpStatus)}, latency ${said(attempt?.latencyMs)} ms, payload`),
      judged(resent.status === 202 && resent.attempts > attemptsLater, `re-sent: ${resent.attempts} attempts`),
      judged(
        kept >= before.length && after === 0,
        `${kept} of ${before.length} lines after 28 days, ${after} after thirty`,
      ),
    )
  }),
  'delivery/disabling': givenEvents(trials, ({ redirected, stopped }) =>
    judged(
      redirected?.status === 'queued' && stopped?.status === 'stopped',
      `${said(redirected?.status)}, then ${said(stopped?.status)}`,
    ),
  ),
}

/** An attempt that is due waits for a dispatch, which comes about once a minute. */
const dispatchMinutes = 1

/** How far the log may be from what came: attempts are seen a little after they are made. */
const agreedMinutes = 0.5

/** Minutes between times in milliseconds. */
function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 60_000)
}

function shown(minutes: readonly number[]): string {
  return minutes.map((gap) => gap.toFixed(1)).join(', ') || 'no'
}

function firstAttempt(delivery: WireObject | undefined): WireObject | undefined {
  return objectsOf(delivery?.attempts)[0]
}

/** Which of these were not refused with 400, or judged so. */
export function notRefused(answers: Readonly<Record<string, Answer>>): string[] {
  return Object.entries(answers).flatMap(([what, { status, json }]) =>
    status === 400 || (status === 200 && isObject(at(json, 'refused'))) ? [] : [`${what} answered ${status}`],
  )
}
