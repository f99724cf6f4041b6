import type { Bench, TaskRun } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { at, objectsOf, said, textOf, type WireObject } from '../wire-json.ts'
import { administer, advance, eventually } from './administration.ts'
import { runTask } from './task-run.ts'
import { eventsAt, type SeenEvent, setUp } from './webhook-evidence.ts'
import { createWebhook, deliveriesOf, dispatchMs, flush, type OwnWebhook } from './webhook-set-up.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

function search(bench: Bench, told = true): Promise<TaskRun> {
  return runTask(bench, 'standardsSearch', bench.contract.endpoints.standardsSearch, {}, { told })
}

function enable(bench: Bench, { id }: OwnWebhook, enabled: boolean): Promise<Answer> {
  return administer(bench, 'PATCH', `webhooks/${id}`, { body: { enabled } })
}

type BadReceivers = { failing: OwnWebhook; redirecting: OwnWebhook; silent: OwnWebhook }

/** Three receivers with bad manners: one answers 500, one redirects, and one never answers. */
function badReceivers(bench: Bench): Promise<BadReceivers> {
  return bench.once('bad receivers', async () => {
    const create = async (path: string) => {
      const created = await createWebhook(bench, (await setUp(bench)).receiver, path, [
        bench.contract.webhookTopics.success,
      ])
      if (typeof created === 'string') throw new TypeError(created)
      return created
    }
    return {
      failing: await create('/failing'),
      redirecting: await create('/redirecting'),
      silent: await create('/silent'),
    }
  })
}

type Trials = {
  failing: OwnWebhook
  silent: OwnWebhook
  /** The first delivery at receivers that answer 500 or redirect, after one attempt. */
  failed: WireObject | undefined
  redirected: WireObject | undefined
  /** The redirecting one's delivery after it was disabled. */
  stopped: WireObject | undefined
  followed: number
}

/** Sends the bad receivers an event, and disables the redirecting one after it. */
export function trials(bench: Bench): Promise<Trials> {
  return bench.once('webhook trials', async () => {
    const { receiver } = await setUp(bench)
    const { failing, redirecting, silent } = await badReceivers(bench)
    await search(bench)
    await advance(bench, dispatchMs)
    const found = { failed: await tried(bench, failing), redirected: await tried(bench, redirecting) }
    await enable(bench, redirecting, false)
    const [stopped] = await deliveriesOf(bench, redirecting)
    const followed = receiver.received.filter(({ path }) => path === '/redirected').length
    return { failing, silent, ...found, stopped, followed }
  })
}

/** The delivery at the receiver that never answers, once it was given up: that takes as long as a receiver may. */
export function silentTrial(bench: Bench): Promise<WireObject | undefined> {
  return bench.once('silent trial', async () => {
    const { silent } = await trials(bench)
    const given = await tried(bench, silent)
    await enable(bench, silent, false)
    return given
  })
}

/** The first delivery to a webhook after its first attempt. */
async function tried(bench: Bench, webhook: OwnWebhook): Promise<WireObject | undefined> {
  const found = await eventually(bench, async () => {
    const [first] = (await deliveriesOf(bench, webhook)).slice(-1)
    return first && objectsOf(first.attempts).length > 0 ? first : null
  })
  return found ?? undefined
}

/** How many webhooks the profile had when one more was refused, and how it was. */
export function fullProfile(bench: Bench): Promise<{ count: number; refused: string | null }> {
  return bench.once('full profile', async () => {
    await badReceivers(bench)
    const refused = await fillUp(bench, [bench.contract.webhookTopics.success])
    return { count: objectsOf((await administer(bench, 'GET', 'webhooks')).json).length, refused }
  })
}

/** Creates webhooks until one is refused. */
async function fillUp(bench: Bench, topics: readonly string[]): Promise<string | null> {
  const { receiver } = await setUp(bench)
  for (let nth = 0; nth < 10; nth += 1) {
    const created = await createWebhook(bench, receiver, `/spare-${nth}`, topics)
    if (typeof created === 'string') return created
    await enable(bench, created, false)
  }
  return null
}

type TestButton = {
  event: SeenEvent | null
  eventId: string | null
  /** Events of a search that ran while the webhook was disabled. */
  whileDisabled: number
  /** The webhook before and after it was disabled. */
  before: unknown
  after: unknown
}

/** Disables the main webhook, searches, presses the button, and enables it again. */
export function testButton(bench: Bench): Promise<TestButton> {
  return bench.once('test button', async () => {
    const opened = await setUp(bench)
    const { main } = opened
    const read = async () => (await administer(bench, 'GET', `webhooks/${main.id}`)).json
    const before = await read()
    // Disabling stops what is queued, and those events are looked for elsewhere.
    await flush(bench, main)
    await enable(bench, main, false)
    const run = await search(bench, false)
    const eventId = textOf(at((await administer(bench, 'POST', `webhooks/${main.id}/test`)).json, 'eventId'))
    const names = bench.contract.names
    const event = await eventually(bench, async () => {
      const events = eventsAt(bench, opened, main.path)
      return events.find(({ envelope }) => envelope[names.webhookEvent.id] === eventId) ?? null
    })
    await enable(bench, main, true)
    const after = await read()
    await flush(bench, main)
    const ofSearch = eventsAt(bench, opened, main.path).filter(
      ({ data }) => data[names.bulkEvent.correlationId] === run.correlationId,
    )
    return { event, eventId, whileDisabled: ofSearch.length, before, after }
  })
}

type Rotation = {
  answer: Answer
  secret: string | null
  /** The secret before. */
  former: string | undefined
  event: SeenEvent | null
}

/** Gives the main webhook a new secret, and has a test event signed after that. */
export function rotation(bench: Bench): Promise<Rotation> {
  return bench.once('rotation', async () => {
    const opened = await setUp(bench)
    const { main } = opened
    const answer = await administer(bench, 'POST', `webhooks/${main.id}/rotate-secret`)
    const secret = textOf(at(answer.json, 'secret'))
    const former = main.secrets.at(-1)
    if (secret !== null) main.secrets.push(secret)
    const eventId = textOf(at((await administer(bench, 'POST', `webhooks/${main.id}/test`)).json, 'eventId'))
    const event = await eventually(bench, async () => {
      const events = eventsAt(bench, opened, main.path)
      return events.find(({ received }) => received.headers[bench.contract.names.webhookHeaders.id] === eventId) ?? null
    })
    return { answer, secret, former, event }
  })
}

/** Minutes from each failed attempt to the next (specification, Delivery and retries). */
export const ladderMinutes = [1, 5, 30, 120, 360]

/** How long before an attempt is due it must not come, and how long after that it is looked for: about a dispatch. */
const earlyMs = 30_000

/** Looks for an attempt, of a dispatch each, before it is given up as never coming. */
const looksForAttempt = 8

type Ladder = {
  /** The failing delivery at its end. */
  delivery: WireObject | undefined
  /** When its attempts came, and when the log says that they were made, by the sandbox's clock. */
  arrivals: number[]
  logged: number[]
  /** Attempts that came, and those that the log has, a day later. */
  cameLater: number
  attemptsLater: number
  enabled: unknown
  /** What reached the receiver of it: one event, again and again. */
  received: SeenEvent[]
  /** Attempts after it was re-sent from the log. */
  resent: { status: number; attempts: number }
}

/** Takes a failing delivery down the ladder with the clock set forward: some nine hours, and a day more. */
export function ladder(bench: Bench): Promise<Ladder> {
  return bench.once('ladder', async () => {
    const { failing } = await trials(bench)
    const opened = await setUp(bench)
    const { id } = bench.contract.names.webhookEvent
    const earlier = new Set((await deliveriesOf(bench, failing)).map((delivery) => delivery.id))
    await search(bench)
    const current = async () => (await deliveriesOf(bench, failing)).find((delivery) => !earlier.has(delivery.id))
    const attemptsOf = (delivery: WireObject | undefined) => objectsOf(delivery?.attempts)
    const delivered = (delivery: WireObject | undefined) =>
      eventsAt(bench, opened, failing.path).filter(({ envelope }) => envelope[id] === delivery?.eventId)
    const arrivals: number[] = []
    for (const minutes of [0, ...ladderMinutes]) {
      if (minutes > 0) await advance(bench, minutes * minuteMs - earlyMs)
      for (let nth = 0; nth < looksForAttempt; nth += 1) {
        await advance(bench, dispatchMs)
        const came = await eventually(
          bench,
          async () => {
            const delivery = await current()
            const count = Math.max(delivered(delivery).length, attemptsOf(delivery).length)
            return count > arrivals.length && delivery?.status !== undefined ? delivery : null
          },
          arrivalMs,
        )
        if (came === null) continue
        arrivals.push(await clockNow(bench))
        break
      }
    }
    const delivery = await current()
    await advance(bench, dayMs)
    await flush(bench, opened.main)
    const later = await current()
    const attemptsLater = attemptsOf(later).length
    const cameLater = delivered(later).length
    const { json } = await administer(bench, 'GET', `webhooks/${failing.id}`)
    const resend = await administer(bench, 'POST', `webhooks/${failing.id}/deliveries/${said(delivery?.id)}/resend`)
    await eventually(bench, async () => (attemptsOf(await current()).length > attemptsLater ? true : null))
    return {
      delivery,
      arrivals,
      logged: attemptsOf(delivery).map((attempt) => Date.parse(said(attempt.at))),
      cameLater,
      attemptsLater,
      enabled: at(json, 'enabled'),
      received: delivered(delivery),
      resent: { status: resend.status, attempts: attemptsOf(await current()).length },
    }
  })
}

/** In real time, for an attempt whose dispatch has come: long enough for a busy machine. */
const arrivalMs = 3000

async function clockNow(bench: Bench): Promise<number> {
  return Date.parse(said(at((await administer(bench, 'GET', 'clock')).json, 'now')))
}

/** Lines of the delivery log now, two days before they are thirty days old, and a day after. */
export function logAfterAMonth(bench: Bench): Promise<{ before: WireObject[]; kept: number; after: number }> {
  return bench.once('log after a month', async () => {
    const { main } = await setUp(bench)
    const before = await deliveriesOf(bench, main)
    const oldest = before.reduce(
      (time, { createdAt }) => Math.min(time, Date.parse(said(createdAt))),
      Number.POSITIVE_INFINITY,
    )
    const now = await clockNow(bench)
    await advance(bench, Math.max(0, oldest + 28 * dayMs - now))
    await flush(bench, main)
    const kept = (await deliveriesOf(bench, main)).length
    await advance(bench, 33 * dayMs)
    const after = await eventually(bench, async () => ((await deliveriesOf(bench, main)).length === 0 ? 0 : null))
    return { before, kept, after: after ?? (await deliveriesOf(bench, main)).length }
  })
}

/**
 * Events while the sandbox's clock runs twenty times as fast: when they were recorded, and when first sent. Faster, the
 * events of one dispatch would lie far apart on a busy machine.
 */
export function cadence(bench: Bench): Promise<{ recorded: number; sent: number }[]> {
  return bench.once('cadence', async () => {
    const { main } = await setUp(bench)
    await flush(bench, main)
    const known = new Set((await deliveriesOf(bench, main)).map(({ id }) => id))
    const usual = at((await administer(bench, 'GET', 'clock')).json, 'timeWarp')
    const timeWarp = typeof usual === 'number' ? usual : 1
    const restore = () => administer(bench, 'PUT', 'clock', { body: { timeWarp } })
    bench.atEnd(restore)
    await administer(bench, 'PUT', 'clock', { body: { timeWarp: 20 } })
    try {
      for (let nth = 0; nth < 8; nth += 1) {
        await search(bench)
        await bench.wait(700)
      }
      await eventually(bench, async () => {
        const log = (await deliveriesOf(bench, main)).filter(({ id }) => !known.has(id))
        return log.some(({ status }) => status === 'queued') ? null : true
      })
    } finally {
      await restore()
    }
    return (await deliveriesOf(bench, main))
      .filter(({ id }) => !known.has(id))
      .flatMap((delivery) => {
        const [first] = objectsOf(delivery.attempts)
        return first ? [{ recorded: Date.parse(said(delivery.createdAt)), sent: Date.parse(said(first.at)) }] : []
      })
  })
}
