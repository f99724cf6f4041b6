import { type Bench, needsAdministration } from '../bench.ts'
import { at, isObject, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { administer, advance, eventually } from './administration.ts'
import { openReceiver, type Receiver } from './receiver.ts'

/** A webhook of ours; `secrets` are all that it has had, the newest last. */
export type OwnWebhook = { id: string; path: string; secrets: string[]; created: WireObject; key: string | undefined }

export type Webhooks = { receiver: Receiver; main: OwnWebhook; createdBefore: number }

/** The header that our deliveries carry beside those of the service. */
export const customHeader = { name: 'x-nightferry-conformance', value: 'a value that cannot be read back' }

/** Longer than the sandbox's usual time from one dispatch to the next, so that one is due. */
export const dispatchMs = 61_000

/**
 * Opens a receiver on loopback and subscribes it to every topic, before anything else is sent, so that it is told of
 * all that the run does. A sentence instead when that cannot be done.
 */
export function webhooks(bench: Bench): Promise<Webhooks | string> {
  return bench.once('webhooks', async () => {
    if (!bench.administration) return needsAdministration
    const receiver = await openReceiver(
      {
        '/main': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>not even JSON</p>'),
        '/failing': (response) => response.writeHead(500).end('no'),
        '/redirecting': (response) => response.writeHead(307, { location: '/redirected' }).end(),
        '/silent': () => undefined,
      },
      bench.now,
    )
    bench.atEnd(() => receiver.close())
    const createdBefore = objectsOf((await administer(bench, 'GET', 'webhooks')).json).length
    const main = await createWebhook(bench, receiver, '/main', everyTopic(bench), { header: customHeader })
    if (typeof main !== 'string') return { receiver, main, createdBefore }
    return `${main}; the sandbox must be started with --allow-insecure-webhooks for a receiver on loopback`
  })
}

/** Creates a webhook that is deleted at the end of the run; a sentence instead when it is refused. */
export async function createWebhook(
  bench: Bench,
  receiver: Receiver,
  path: string,
  topics: readonly string[],
  more: { header?: { name: string; value: string }; key?: string } = {},
): Promise<OwnWebhook | string> {
  const { key, header } = more
  const keyed = key === undefined ? {} : { key }
  const url = `${receiver.url}${path}`
  let id: string | null = null
  // Before it is created: a run that is stopped meanwhile does not learn its id, and finds it by its address.
  bench.atEnd(async () => {
    for (const one of id === null ? await idsOf(bench, url, keyed) : [id])
      await administer(bench, 'DELETE', `webhooks/${one}`, keyed)
  })
  const body = { url, topics, ...(header && { header }) }
  const answer = await administer(bench, 'POST', 'webhooks', { body, ...keyed })
  id = textOf(at(answer.json, 'id'))
  const secret = textOf(at(answer.json, 'secret'))
  if (answer.status !== 201 || id === null || secret === null || !isObject(answer.json)) {
    return `creating a webhook answered ${answer.status}`
  }
  return { id, path, secrets: [secret], created: answer.json, key }
}

/** The webhooks that lead to an address. */
async function idsOf(bench: Bench, url: string, keyed: { key?: string }): Promise<string[]> {
  const listed = objectsOf((await administer(bench, 'GET', 'webhooks', keyed)).json)
  return listed.flatMap((webhook) => (webhook.url === url ? (textOf(webhook.id) ?? []) : []))
}

/** Every topic that can be subscribed to. */
export function everyTopic({ contract }: Pick<Bench, 'contract'>): string[] {
  const { test, ...topics } = contract.webhookTopics
  return Object.values(topics).filter((topic) => topic !== test)
}

/** The delivery log of a webhook, the newest first. */
export async function deliveriesOf(bench: Bench, webhook: OwnWebhook): Promise<WireObject[]> {
  const keyed = webhook.key === undefined ? {} : { key: webhook.key }
  return objectsOf((await administer(bench, 'GET', `webhooks/${webhook.id}/deliveries`, keyed)).json)
}

/** Lets a dispatch come and waits until nothing that was queued for the webhook is left. */
export async function flush(bench: Bench, webhook: OwnWebhook): Promise<WireObject[]> {
  await advance(bench, dispatchMs)
  const settled = await eventually(bench, async () => {
    const log = await deliveriesOf(bench, webhook)
    return log.some((delivery) => delivery.status === 'queued') ? null : log
  })
  return settled ?? (await deliveriesOf(bench, webhook))
}
