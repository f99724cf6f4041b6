/**
 * The cases that the libraries of Standard Webhooks test themselves with, as data. Source: the repository
 * standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts and libraries/go/webhook_test.go;
 * MIT licence, copyright 2023 Svix (https://www.svix.com).
 *
 * `headers` are what a case changes of a good delivery; null removes a header. `ageSeconds` is how old the delivery is
 * when it arrives.
 */
export type Vector = {
  title: string
  headers?: { id?: null; timestamp?: string | null; signature?: string | null }
  ageSeconds?: number
  verifies: boolean
}

export const signed = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1614265330,
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}

const other = 'Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc='

export const vectors: readonly Vector[] = [
  { title: 'a valid signature', verifies: true },
  { title: 'a missing id', headers: { id: null }, verifies: false },
  { title: 'a missing timestamp', headers: { timestamp: null }, verifies: false },
  { title: 'a timestamp that is no number', headers: { timestamp: 'hello' }, verifies: false },
  { title: 'a missing signature', headers: { signature: null }, verifies: false },
  { title: 'a signature that is none', headers: { signature: 'v1,dawfeoifkpqwoekfpqoekf' }, verifies: false },
  { title: "another message's signature", headers: { signature: `v1,${other}` }, verifies: false },
  { title: 'a part of the signature', headers: { signature: 'v1,g0hM9' }, verifies: false },
  { title: 'a version and nothing more', headers: { signature: 'v1,' }, verifies: false },
  { title: 'a timestamp that is too old', ageSeconds: 301, verifies: false },
  { title: 'a timestamp that is too new', ageSeconds: -301, verifies: false },
  {
    title: 'one good entry among others',
    headers: { signature: `v1,${other} v2,${other} ${signed.signature} v1,${other}` },
    verifies: true,
  },
]
