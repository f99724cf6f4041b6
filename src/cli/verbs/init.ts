import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'yaml'
import { ConfigError, variableOf } from '../../config/environment.ts'
import { loadConfig } from '../../config/load-config.ts'
import { wrongDatabaseAddress } from '../../config/require-settings.ts'
import { settings } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import { createExchangeClient, type ExchangeClient } from '../../exchange/client.ts'
import { loadContract } from '../../exchange/contract.ts'
import { nameOf, suggestStreams, toldNamesakes } from '../../init/suggest-streams.ts'
import { chosenFor, shownByService } from '../../init/told-to-init.ts'
import { type Choices, dialectOf, isReady, writtenConfig } from '../../init/written-config.ts'
import type { PartnerTable } from '../../partner/examination.ts'
import { examinePartner } from '../../partner/partner-snapshot.ts'
import { askedTables, createPrompter, fieldTypesShown, type Prompter } from '../asked-by-init.ts'
import { type Cli, type ExitCode, exitCodes, printLine, UsageError, writeNewFile } from '../cli.ts'
import { invocationFrom, packagedConfig } from '../read-config.ts'
import { readable } from '../show/readable.ts'

export type InitOptions = {
  url?: string
  partner?: string
  identifier?: string
  group?: string
  table?: string[]
  column?: string[]
  fieldTypes?: boolean
  readOnly?: boolean
  out: string
  secretsFile?: string
  force?: boolean
}

/** A person waits. Milliseconds. */
const patienceMs = 15_000

/** `nightferry init`: a configuration for one's own service and database, written from what both of them show. */
export async function init(cli: Cli, options: InitOptions): Promise<ExitCode> {
  const out = resolve(cli.workingFolder, options.out)
  const secretsFile = options.secretsFile === undefined ? null : resolve(cli.workingFolder, options.secretsFile)
  refuseMixed(options)
  refuseExisting(options, out, secretsFile)
  const prompter = process.stdin.isTTY === true && cli.stderr.isTTY === true ? terminalPrompter(cli) : null
  try {
    return await writeFiles(cli, options, { out, secretsFile }, prompter)
  } finally {
    prompter?.close()
  }
}

function terminalPrompter(cli: Cli): Prompter {
  const interrupt = () => void process.kill(process.pid, 'SIGINT')
  return createPrompter({ input: process.stdin, output: cli.stderr, signal: cli.signal, interrupt })
}

/** Options that say what would be sent, beside the one that says that nothing is. */
function refuseMixed({ readOnly, partner, identifier, group, table, column }: InitOptions): void {
  if (readOnly !== true) return
  const given = Object.entries({ partner, identifier, group, table, column }).filter(([, value]) => value !== undefined)
  if (given.length === 0) return
  const flags = given.map(([name]) => `--${name}`).join(', ')
  throw new UsageError(`--read-only writes a configuration that sends nothing: leave ${flags} out`)
}

function refuseExisting({ force }: InitOptions, ...files: (string | null)[]): void {
  const there = files.filter((file) => file !== null && existsSync(file))
  if (force === true || there.length === 0) return
  throw new UsageError(`${there.join(' and ')} exists already: name another file, or overwrite it with --force`)
}

async function writeFiles(
  cli: Cli,
  options: InitOptions,
  { out, secretsFile }: { out: string; secretsFile: string | null },
  prompter: Prompter | null,
): Promise<ExitCode> {
  const given = fromEnvironment(cli)
  const say = (words: string) => printLine(cli.stderr, readable(words))
  const baseUrl =
    options.url ??
    given.baseUrl ??
    (await asked(prompter?.ask('Address of the service, without /api:'), '--url, or EXCHANGE_BASE_URL'))
  checked('--url', { exchange: { baseUrl } })
  const apiKey =
    given.apiKey ??
    (await asked(
      prompter?.askHidden('API key:'),
      'EXCHANGE_API_KEY, or EXCHANGE_API_KEY_FILE (never a flag: other users see command lines)',
    ))
  const contract = loadContract(packagedConfig('contract.yaml'))
  const client = createExchangeClient({
    baseUrl,
    apiKey,
    contract,
    concurrency: 2,
    requestsPerSecond: 10,
    connectTimeoutMs: patienceMs,
    headersTimeoutMs: patienceMs,
    bodyTimeoutMs: patienceMs,
    maxAnswerBytes: 32 * 1024 * 1024,
    proxy: given.proxy,
    signal: cli.signal,
  })
  const { fieldTypes, ...shown } = await shownBy(cli, client, { baseUrl, apiKey }, options.fieldTypes === true, say)
  say(
    `The service accepts the key. Its profile shows ${counted(shown.identifiers.length, 'identifier')}, ${counted(shown.groups.length, 'group')} and ${counted(shown.frameworks.length, 'framework')}.`,
  )
  const sent = options.readOnly === true ? nothingSent : await whatIsSent(cli, options, shown, prompter, say)
  const { partnerUrl } = sent
  const text = writtenConfig({
    ...shown,
    ...sent,
    readOnly: options.readOnly === true,
    baseUrl: given.baseUrl === baseUrl ? null : baseUrl,
    openKey: null,
    partnerUrl: partnerUrl === null || holdsPassword(partnerUrl) || given.partnerUrl === partnerUrl ? null : partnerUrl,
    fieldTypes,
    standards: null,
    contract,
    schema: pathToFileURL(packagedConfig('nightferry.schema.json')).href,
  })
  settings.parse(parse(text))
  await writeNewFile(out, text, { flag: options.force ? 'w' : 'wx' })
  const secrets = {
    EXCHANGE_API_KEY: apiKey,
    ...(partnerUrl !== null && { PARTNER_DATABASE_URL: partnerUrl }),
    ...(given.proxy !== null && { [variableOf('exchange.proxy')]: given.proxy }),
  }
  if (secretsFile !== null) await writeEnvironment(secretsFile, secrets, options)
  const ready = options.readOnly === true ? null : Object.values(sent.suggestions).filter(isReady).length
  for (const line of endLines(cli, out, secretsFile, ready)) printLine(cli.stdout, line)
  return exitCodes.well
}

/** What a configuration says of sending, as `writtenConfig` is given it; `partnerUrl` may hold a password. */
type Sent = Pick<Choices, 'identifier' | 'group' | 'partnerUrl' | 'dialect' | 'tables' | 'suggestions'>

const nothingSent: Sent = {
  identifier: null,
  group: null,
  partnerUrl: null,
  dialect: 'postgres',
  tables: [],
  suggestions: suggestStreams([]),
}

/** What is chosen of what the service shows, and what the partner's database shows. */
async function whatIsSent(
  cli: Cli,
  options: InitOptions,
  shown: Pick<Choices, 'identifiers' | 'groups'>,
  prompter: Prompter | null,
  say: (words: string) => void,
): Promise<Sent> {
  const choose = (what: string, flag: string, wanted: string | undefined, of: typeof shown.groups) =>
    chosenFor(
      what,
      flag,
      wanted,
      of,
      prompter === null ? null : (choices) => prompter.choose(`Which ${what}?`, choices),
    )
  const identifier = await choose('identifier', '--identifier', options.identifier, shown.identifiers)
  const group = await choose('group', '--group', options.group, shown.groups)

  const partnerUrl =
    partnerOf(options) ??
    fromEnvironment(cli).partnerUrl ??
    (await asked(
      prompter?.askHidden('Your database, such as postgres://user:password@host:5432/database:'),
      '--partner, or PARTNER_DATABASE_URL if it holds a password',
    ))
  checked('--partner', { partner: { url: partnerUrl } })
  const wrong = wrongDatabaseAddress(partnerUrl)
  if (wrong !== null) throw new ConfigError('What was given cannot be used:', [{ path: '--partner', message: wrong }])
  const { product, tables } = await tablesOfPartner(partnerUrl)
  say(`Your database is ${product}. It shows ${counted(tables.length, 'table')}, views among them.`)
  const suggestions = suggestStreams(tables, await askedTables(options, tables, prompter))
  for (const suggestion of Object.values(suggestions)) {
    if (suggestion === null) continue
    const state = isReady(suggestion) ? '' : `, but ${suggestion.missing.join(', ')} was not found`
    say(`  ${suggestion.stream}: ${nameOf(suggestion.table)}${state}`)
    for (const words of toldNamesakes(suggestion, tables)) say(`    ${words}`)
  }
  return { identifier, group, partnerUrl, dialect: dialectOf(partnerUrl), tables, suggestions }
}

async function shownBy(
  cli: Cli,
  client: ExchangeClient,
  service: { baseUrl: string; apiKey: string },
  withFieldTypes: boolean,
  say: (words: string) => void,
) {
  try {
    const shown = await shownByService(client)
    return { ...shown, fieldTypes: withFieldTypes ? await fieldTypesShown(cli, client, service, say) : null }
  } finally {
    await client.close()
  }
}

/** What the environment says already, in whatever form. */
function fromEnvironment({ environment }: Cli) {
  const { exchange, partner } = loadConfig({ file: null, environment })
  return { baseUrl: exchange.baseUrl, apiKey: exchange.apiKey, proxy: exchange.proxy, partnerUrl: partner.url }
}

/** @throws {UsageError} where nobody can be asked. */
async function asked(answer: Promise<string> | undefined, how: string): Promise<string> {
  const text = await answer
  if (text !== undefined && text !== '') return text
  throw new UsageError(
    answer === undefined ? `there is no terminal to ask on: give ${how}` : `an answer is needed: give ${how}`,
  )
}

function checked(flag: string, part: object): void {
  const found = settings.safeParse(part)
  if (!found.success)
    throw new ConfigError(
      'What was given cannot be used:',
      found.error.issues.map(({ message }) => ({ path: flag, message })),
    )
}

function partnerOf({ partner }: InitOptions): string | undefined {
  if (partner !== undefined && holdsPassword(partner)) {
    throw new UsageError(
      '--partner holds a password, which other users see on the command line: set PARTNER_DATABASE_URL instead',
    )
  }
  return partner
}

function holdsPassword(url: string): boolean {
  return !URL.canParse(url) || new URL(url).password !== '' || new URL(url).searchParams.has('password')
}

async function tablesOfPartner(url: string): Promise<{ product: string; tables: PartnerTable[] }> {
  const partner = await examinePartner({ url, statementTimeoutMs: patienceMs, connectTimeoutMs: patienceMs })
  try {
    return { product: partner.product, tables: await partner.tables() }
  } finally {
    await partner.close()
  }
}

async function writeEnvironment(file: string, values: Record<string, string>, { force }: InitOptions): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`)
  // A file that is there keeps its mode, no matter who may read it.
  if (force) await rm(file, { force: true })
  await writeNewFile(file, lines.join(''), { mode: 0o600, flag: 'wx' })
}

/** @param ready streams with a query; null: nothing is sent. */
function endLines(cli: Cli, out: string, secretsFile: string | null, ready: number | null): string[] {
  const { program } = invocationFrom(cli.workingFolder)
  const name = relative(cli.workingFolder, out)
  const config = name === 'nightferry.yaml' ? '' : ` --config ${name}`
  const needed =
    ready === null ? 'EXCHANGE_API_KEY' : 'EXCHANGE_API_KEY, and PARTNER_DATABASE_URL if the file does not have it'
  const variables =
    secretsFile === null
      ? [`Set ${needed}, as before this call.`]
      : [
          `The secrets are in ${relative(cli.workingFolder, secretsFile)} (mode 600). To use them: set -a; . ./${relative(cli.workingFolder, secretsFile)}; set +a`,
        ]
  if (ready === null) {
    return [
      `Wrote ${name}, which only reads at the service: it sends nothing.`,
      ...variables,
      'Then:',
      `  ${program} doctor${config}`,
      `  ${program} migrate${config}`,
      `  ${program} run pull-calculators${config}`,
    ]
  }
  return [
    `Wrote ${name}: ${ready} streams with a query, the others in comments. Read the queries, and correct what was guessed.`,
    ...variables,
    'Then:',
    `  ${program} doctor${config}`,
    `  ${program} migrate${config} && ${program} plan${config}`,
    `  ${program} run nightly-sync${config}`,
  ]
}
