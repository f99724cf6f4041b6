import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { reach } from '../../../src/cli/open-database.ts'
import { openOwnDatabase } from '../../../src/doctor/ward.ts'
import { openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'

it.each([
  'postgres://reader:4711?s3cret-word@127.0.0.1:9/hotels',
  'postgresql://reader:4711#s3cret-word@127.0.0.1:9/hotels',
  'mysql://reader:?s3cret-word@127.0.0.1:9/hotels',
  'mysql://reader:4711?s3cret-word@127.0.0.1:9/hotels',
  'sqlserver://reader:4711#s3cret-word@127.0.0.1:9/hotels',
  'postgres://reader:4711@s3cret?word@127.0.0.1:9/hotels',
  'postgres://reader:4711@s3cret#word@127.0.0.1:9/hotels',
  'mysql://reader:4711@s3cret?word@127.0.0.1:9/hotels',
  'sqlserver://reader:4711@s3cret?word=x@127.0.0.1:9/hotels',
  'postgres://reader:4711?s3c=ret-word@127.0.0.1:9/hotels',
])('a password with a bare ? or # is shown in no part: %s', async (url) => {
  const error = await openPartnerSnapshot({ url, statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 }).catch(
    (thrown: Error) => thrown,
  )
  expect(error).toMatchObject({ code: 'partner_unreachable', message: expect.stringContaining('? as %3F') })
  expect((error as Error).message).not.toMatch(/4711|s3c|word@|word=/)
})

it.each([
  'postgres://reader:4711?s3cret-word@127.0.0.1:9/nightferry',
  'postgres://reader:4711@s3cret?word@127.0.0.1:9/nightferry',
  'postgres://reader:4711@s3cret/word@127.0.0.1:9/nightferry',
])('nor in what is said of a database of our own: %s', async (url) => {
  const cli = { stderr: new PassThrough(), signal: new AbortController().signal }
  await using made = new AsyncDisposableStack()
  const limits = { connectTimeoutMs: 1_000, statementTimeoutMs: 1_000 }
  for (const ask of [() => reach(url, cli), () => openOwnDatabase(url, null, limits, made)]) {
    const error = await ask().then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    expect(error?.message).toMatch(/is not percent-encoded: in the user or password write/)
    expect(error?.message).not.toMatch(/4711|s3cret|word@/)
  }
})
