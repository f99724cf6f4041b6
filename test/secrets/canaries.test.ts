import { expect, test } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { leakedIn, secretsOf } from '../helpers/canaries.ts'

const secret = 'c4n4ry "k\\ey/+%@?#&4711'
const secrets = new Map([['EXCHANGE_API_KEY', secret]])

test.each([
  ['as it is', secret],
  ['in JSON', JSON.stringify({ key: secret })],
  ['in JSON within JSON', JSON.stringify({ body: JSON.stringify({ key: secret }) })],
  ['in an address', `https://host/?key=${encodeURIComponent(secret)}`],
  ['in a form', new URLSearchParams({ key: secret }).toString()],
  ['in hex', Buffer.from(secret).toString('hex')],
  ...['', 'a', 'ab', 'abc'].map((before) => [
    `in base64 after ${before.length} bytes`,
    Buffer.from(`${before}${secret}:x`).toString('base64'),
  ]),
])('a secret is found %s', (_, text) => {
  expect(leakedIn(`before ${text} after`, secrets)).toEqual(['EXCHANGE_API_KEY'])
})

test('of an address only the password is secret', () => {
  const url = `postgres://night:${encodeURIComponent(secret)}@db.example:5432/nightferry`
  expect(secretsOf({ DATABASE_URL: url, PARTNER_DATABASE_URL: 'sqlite:hotels.db' })).toEqual(
    new Map([['DATABASE_URL', secret]]),
  )
  expect(leakedIn('postgres://night@db.example:5432/nightferry', secretsOf({ DATABASE_URL: url }))).toEqual([])
})

test('a process of the suite that writes a secret fails its test', async () => {
  await using folder = await workingFolder()
  // The name of a verb that there is not is repeated to whoever called it.
  const called = nightferry(folder.path, ['long-enough-key'], { EXCHANGE_API_KEY: 'long-enough-key' })
  await expect(called).rejects.toThrow('EXCHANGE_API_KEY')
})
