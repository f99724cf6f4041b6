import type { Bench } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { administer } from './administration.ts'
import { setUp } from './webhook-evidence.ts'
import { customHeader, everyTopic, flush } from './webhook-set-up.ts'

/** Addresses that no webhook may have, and why. Nothing is connected to. */
const forbidden: Readonly<Record<string, string>> = {
  'plain HTTP': 'http://example.com/hook',
  loopback: 'https://127.0.0.1/hook',
  'a private network': 'https://10.1.2.3/hook',
  'a link-local address': 'https://169.254.169.254/hook',
  'IPv6 loopback': 'https://[::1]/hook',
  'IPv4 in IPv6': 'https://[::ffff:192.168.0.1]/hook',
}

/** Refused however the sandbox was started. */
function alwaysForbidden(url: string): Record<string, string> {
  const { host } = new URL(url)
  return { credentials: `http://user:secret@${host}/hook`, '2049 characters': `${url}/`.padEnd(2049, 'x') }
}

type WebhookRules = {
  /** What the address rules say of each forbidden address. */
  addresses: Record<string, Answer>
  /** What they say of a public one. */
  publicAddress: Answer
  always: Record<string, Answer>
  longest: Answer
  noTopics: Answer
  testTopic: Answer
  reservedHeaders: Record<string, Answer>
}

/** Tries what must be refused on the main webhook, which stays as it is. */
export function webhookRules(bench: Bench): Promise<WebhookRules> {
  return bench.once('webhook rules', async () => {
    const { main, receiver } = await setUp(bench)
    const change = (body: unknown) => administer(bench, 'PATCH', `webhooks/${main.id}`, { body })
    const judge = (url: string) => administer(bench, 'POST', 'webhook-addresses/judge', { body: { url } })
    const { test } = bench.contract.webhookTopics
    // What is queued is delivered first: the address is another one for a moment.
    await flush(bench, main)
    const longest = await change({ url: `${receiver.url}/`.padEnd(2048, 'x') })
    await change({ url: `${receiver.url}${main.path}` })
    return {
      addresses: await each(forbidden, judge),
      publicAddress: await judge('https://93.184.215.14/hook'),
      always: await each(alwaysForbidden(receiver.url), (url) => change({ url })),
      longest,
      noTopics: await change({ topics: [] }),
      testTopic: await change({ topics: [...everyTopic(bench), test] }),
      reservedHeaders: await each(bench.contract.names.webhookHeaders, (name) =>
        change({ header: { ...customHeader, name } }),
      ),
    }
  })
}

async function each(
  cases: Readonly<Record<string, string>>,
  attempt: (value: string) => Promise<Answer>,
): Promise<Record<string, Answer>> {
  const answers: Record<string, Answer> = {}
  for (const [name, value] of Object.entries(cases)) answers[name] = await attempt(value)
  return answers
}
