import { expect, it } from 'vitest'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'

it.each([
  'postgres://reader:4711?s3cret-word@127.0.0.1:9/hotels',
  'postgresql://reader:4711#s3cret-word@127.0.0.1:9/hotels',
  'mysql://reader:?s3cret-word@127.0.0.1:9/hotels',
  'mysql://reader:4711?s3cret-word@127.0.0.1:9/hotels',
  'sqlserver://reader:4711#s3cret-word@127.0.0.1:9/hotels',
])('a password with a bare ? or # is shown in no part: %s', async (url) => {
  const error = await openPartnerSnapshot({ url, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 }).catch(
    (thrown: Error) => thrown,
  )
  expect(error).toMatchObject({ code: 'partner_unreachable', message: expect.stringContaining('written as %3F') })
  expect((error as Error).message).not.toMatch(/4711|s3cret/)
})
