import { type SeenEvent, setUp } from '../evidence/webhook-evidence.ts'
import { rotation } from '../evidence/webhook-trials.ts'
import { holds, judged, notObserved, together } from '../observation.ts'
import { type Checks, givenEvents, withEvents } from './check.ts'
import {
  everyBulkEvent,
  everyEvent,
  expectedSignature,
  overEvents,
  signedOf,
  unless,
  verdictOn,
  verifyAll,
} from './judge-events.ts'

/** Specification, Signature. */
export const signatureChecks: Checks<'signature'> = {
  'signature/id': everyEvent('equal to the event id', ({ envelope, received }, bench) => {
    const { id } = signedOf(bench, received)
    return unless(id === envelope[bench.contract.names.webhookEvent.id], 'the header', id)
  }),
  'signature/timestamp': everyEvent('Unix seconds, within five of their arrival', ({ received }, bench) => {
    const { timestamp } = signedOf(bench, received)
    const apart = Math.abs(Number(timestamp) - received.at / 1000)
    return unless(/^\d+$/.test(timestamp ?? '') && apart <= 5, 'the header', timestamp)
  }),
  'signature/signature': withEvents(async (bench) => {
    const entries = (event: SeenEvent) => (signedOf(bench, event.received).signature ?? '').split(' ')
    const { event } = await rotation(bench)
    const shaped = overEvents(await everyBulkEvent(bench), 'v1 and 44 characters of base64', (one) =>
      unless(
        entries(one).every((entry) => /^v1,[A-Za-z0-9+/]{43}=$/.test(entry)),
        'an entry',
        signedOf(bench, one.received).signature,
      ),
    )
    return together(shaped, holds(`${event === null ? 'no' : entries(event).length} entries after a rotation`))
  }),
  'signature/1': givenEvents(setUp, async ({ main }, bench) =>
    overEvents(await everyBulkEvent(bench), 'as computed here over the raw body', ({ received }) => {
      const entries = (signedOf(bench, received).signature ?? '').split(' ')
      const expected = main.secrets.map((secret) => expectedSignature(bench, secret, received))
      return unless(
        expected.some((entry) => entries.includes(entry)),
        'the signature',
        entries[0],
      )
    }),
  ),
  'signature/2': givenEvents(setUp, async ({ main }, bench) => {
    const { secret, event } = await rotation(bench)
    if (secret === null || event === null) return judged(false, 'no delivery came after the rotation')
    const entries = (signedOf(bench, event.received).signature ?? '').split(' ')
    const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64').length
    return judged(
      entries.includes(expectedSignature(bench, secret, event.received)),
      `a key of ${bytes} bytes, one of ${main.secrets.length} secrets`,
    )
  }),
  'signature/3': withEvents(verifyAll),
  'signature/4': givenEvents(setUp, async ({ main }, bench) => {
    const [event] = await everyBulkEvent(bench)
    if (event === undefined) return notObserved('no delivery came')
    const { received } = event
    const names = bench.contract.names.webhookHeaders
    const seconds = Number(received.headers[names.timestamp]) * 1000
    const v2 = (received.headers[names.signature] ?? '').replaceAll('v1,', 'v2,')
    const tries: Record<string, [string, string]> = {
      'as it came': ['verified', verdictOn(bench, main, received)],
      '300 s old': ['verified', verdictOn(bench, main, received, seconds + 300_000)],
      '301 s old': ['timestamp_too_old', verdictOn(bench, main, received, seconds + 301_000)],
      '301 s ahead': ['timestamp_too_new', verdictOn(bench, main, received, seconds - 301_000)],
      'parsed and written again': [
        'signature_mismatch',
        verdictOn(bench, main, { ...received, body: rewritten(received.body) }),
      ],
      'as v2': [
        'no_v1_signature',
        verdictOn(bench, main, { ...received, headers: { ...received.headers, [names.signature]: v2 } }),
      ],
    }
    const faults = Object.entries(tries).flatMap(([what, [wanted, seen]]) =>
      wanted === seen ? [] : [`${what}: ${seen}`],
    )
    return judged(
      faults.length === 0,
      faults.length === 0 ? `our side: ${Object.keys(tries).join(', ')} judged rightly` : faults.join(', '),
    )
  }),
}

function rewritten(body: Buffer): Buffer {
  return Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8')), null, 2), 'utf8')
}
