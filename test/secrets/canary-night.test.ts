import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { canaries, canary } from '../helpers/canaries.ts'
import { holdsSecret } from '../helpers/find-secret.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { echoingService } from './echoing-service.ts'

const secrets = {
  ...canaries,
  deniedKey: canary('refused'),
  wrongPassword: canary('wrong', ' '),
}

let world: World
const made = new AsyncDisposableStack()
/** Everything that the processes of the night wrote, by what was called. */
const said = new Map<string, string>()
/** Every row of every table that the night left, as JSON, by table. */
const kept = new Map<string, string>()
/** What signs the addresses of the pages and result files that the service handed out. */
let signatures: string[] = []

beforeAll(async () => {
  world = made.use(await startWorld({ hotels: 3 }))
  const folder = made.use(await workingFolder())
  const echo = made.use(await echoingService())
  const admin = new pg.Client({ connectionString: world.databaseUrl })
  await admin.connect()
  made.defer(() => admin.end())
  const keyFile = join(folder.path, 'key')
  await writeFile(keyFile, `${secrets.apiKey}\n`)
  const environment = {
    ...world.environment(),
    EXCHANGE_API_KEY: '',
    EXCHANGE_API_KEY_FILE: keyFile,
    NIGHTFERRY_LOG_LEVEL: 'trace',
  }
  const call = async (args: string[], changed: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await nightferry(folder.path, [...args, '--config', demoConfig], {
      ...environment,
      ...changed,
    })
    said.set(`${args.join(' ')} ${Object.keys(changed).join(' ')}`, `${stdout}\n${stderr}`)
    return { code, stderr }
  }
  const run = ['run', 'nightly-sync', '--json']
  const ends = async (code: number, args: string[], changed?: Record<string, string>) =>
    expect(await call(args, changed), args.join(' ')).toMatchObject({ code })

  await ends(0, run)
  await ends(0, ['status'])
  await ends(0, ['trace', 'H-0001', '--json'])
  await ends(0, ['config', 'print'])
  await ends(1, ['sql', 'select nothing_like_it from companies'])
  await ends(1, run, { PARTNER_DATABASE_URL: withPassword(world.partnerUrl, secrets.wrongPassword) })
  await ends(1, run, { EXCHANGE_API_KEY_FILE: '', EXCHANGE_API_KEY: secrets.deniedKey })
  await ends(1, run, { EXCHANGE_BASE_URL: echo.url })
  await ends(1, ['status'], { DATABASE_URL: withPassword(world.databaseUrl, secrets.wrongPassword) })
  await ends(2, ['status'], { DATABASE_URL: world.databaseUrl.replace('://', ':/') })
  await ends(2, ['status', '--set', `exchange.apiKey=${secrets.apiKey}`])

  const { rows: tables } = await admin.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables
     where schemaname in ('nightferry', 'nightferry_queue')`,
  )
  for (const { name } of tables) {
    const { rows } = await admin.query<{ line: string }>(`select to_jsonb(t)::text as line from ${name} t`)
    kept.set(name, rows.map(({ line }) => line).join('\n'))
  }
  const { rows: addresses } = await admin.query<{ url: string }>(
    `select url from nightferry.search_page
     union all
     select (regexp_matches(task::text, 'https?://[^"]*signature=[^"]*', 'g'))[1] from nightferry.submission`,
  )
  signatures = addresses.flatMap(({ url }) => new URL(url).searchParams.get('signature') ?? [])
}, 900_000)

afterAll(() => made.disposeAsync())

function withPassword(url: string, password: string): string {
  return Object.assign(new URL(url), { password: encodeURIComponent(password) }).href
}

test('the night wrote log lines at trace level and left rows, or nothing would be shown', () => {
  expect([...said.values()].join('\n')).toMatch(/"msg":"run_finished"/)
  expect(kept.get('nightferry.submission')).toContain('company_mappings')
  expect(signatures.length).toBeGreaterThan(0)
  expect(kept.get('nightferry.run'), 'the service repeated the key').toContain('[API key]')
})

test.each(Object.entries(secrets))('no process writes the secret %s, in no encoding', (_, secret) => {
  const found = [...said].filter(([, text]) => holdsSecret(text, secret)).map(([args]) => args)
  expect(found).toEqual([])
})

test.each(Object.entries(secrets))('no table keeps the secret %s, in no encoding', (_, secret) => {
  const found = [...kept].filter(([, text]) => holdsSecret(text, secret)).map(([table]) => table)
  expect(found).toEqual([])
})

test('the signature of an address is written nowhere, and kept only where the address is fetched from', () => {
  const holding = (texts: Map<string, string>) =>
    [...texts].filter(([, text]) => signatures.some((signature) => text.includes(signature))).map(([name]) => name)
  expect(holding(said)).toEqual([])
  expect(holding(kept).toSorted()).toEqual(['nightferry.search_page', 'nightferry.submission'])
})
