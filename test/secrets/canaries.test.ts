import pg from 'pg'
import { expect, test } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { canaries, secretsIn } from '../helpers/canaries.ts'
import { keptSecrets } from '../helpers/kept-secrets.ts'
import { inspectedLogger, takeLeaks } from '../helpers/leaks.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'

const inBase64 = (text: string) => Buffer.from(text).toString('base64')

const forms: [string, (secret: string) => string][] = [
  ['itself', (secret) => secret],
  ['JSON', (secret) => JSON.stringify({ secret })],
  ['JSON within JSON', (secret) => JSON.stringify(JSON.stringify({ secret }))],
  ['part of an address', (secret) => encodeURIComponent(secret)],
  ['parameter of an address', (secret) => new URLSearchParams({ secret }).toString()],
  ['base64', inBase64],
  ['base64 behind one byte', (secret) => inBase64(`:${secret}`)],
  ['base64 behind two bytes', (secret) => inBase64(`a:${secret}`)],
  ['base64 for addresses', (secret) => Buffer.from(secret).toString('base64url')],
]

test.each(forms)('a canary is found in a text as %s', (_, form) => {
  for (const [name, secret] of some(Object.entries(canaries))) {
    expect(secretsIn(`a line\n{"msg":"${form(secret)}"}\nanother`)).toEqual([name])
  }
})

test('a part of a canary is found, and a canary in hexadecimal', () => {
  expect(secretsIn(`refused: ${canaries.apiKey.slice(0, 8)}…`)).toEqual(['part of a canary'])
  expect(secretsIn(Buffer.from(canaries.apiKey).toString('hex'))).toEqual(['part of a canary'])
})

test('the signature of an address is found, and none in an address whose signature is masked', () => {
  expect(secretsIn('https://files.example/p/1?expires=1&signature=AAAABBBBCCCCDDDD')).toEqual([
    'signature of an address',
  ])
  expect(secretsIn('https://files.example/p/1?expires=1&signature=********')).toEqual([])
})

test('a canary that a process or a logger writes is found, with the place', async () => {
  await using database = await testDatabase()
  await using folder = await workingFolder()
  const query = `select '${canaries.apiKey}' as written, 1 as one`
  await nightferry(folder.path, ['sql', query], { DATABASE_URL: database.url })
  expect(takeLeaks()).toEqual([`standard output of nightferry sql ${query}: apiKey`])
  inspectedLogger().trace({ password: canaries.databasePassword }, 'opened')
  expect(takeLeaks()).toEqual([expect.stringMatching(/^a logger: .*: databasePassword$/)])
})

test('a canary in a row of a database is found, with the table', async () => {
  await using database = await testDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    expect(await keptSecrets(database.url)).toEqual([])
    await client.query('create schema nightferry_queue; create table nightferry_queue.job (data jsonb)')
    await client.query('insert into nightferry_queue.job values ($1)', [JSON.stringify([inBase64(canaries.apiKey)])])
    expect(await keptSecrets(database.url)).toEqual(['nightferry_queue.job'])
    await client.query('drop table nightferry_queue.job')
  } finally {
    await client.end()
  }
})

test('the processes of the suite run at trace level, but where a test sets another', async () => {
  await using folder = await workingFolder()
  const printed = async (env: Record<string, string>) =>
    JSON.parse((await nightferry(folder.path, ['config', 'print', '--json'], env)).stdout) as unknown
  expect(await printed({})).toMatchObject({ log: { level: 'trace' } })
  expect(await printed({ NIGHTFERRY_LOG_LEVEL: 'warn' })).toMatchObject({ log: { level: 'warn' } })
})
