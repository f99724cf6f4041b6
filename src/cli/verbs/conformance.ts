import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { settings } from '../../config/schema.ts'
import type { Writing } from '../../conformance/bench.ts'
import { readOpenNames } from '../../conformance/names/open-names.ts'
import { type ConformanceResult, runConformance } from '../../conformance/run-conformance.ts'
import { counted, grouped } from '../../counted.ts'
import { loadContract } from '../../exchange/contract.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine, UsageError } from '../cli.ts'
import { packagedConfig, readConfig } from '../read-config.ts'
import { duration, readable } from '../show/readable.ts'
import { type Cell, table, wrap } from '../show/table.ts'

export type ConformanceOptions = CommonOptions & {
  baseUrl?: string
  apiKey?: string
  contract?: string
  group?: string
  customIdentifier?: string
  identifier?: string
  company?: string
  fieldType?: string
  year?: number
  administration?: boolean
  certifierKey?: string
  siblingKey?: string
  poll: number
  taskLimit: number
  timeLimit: number
}

/** For one call. The service queues what takes long, so an answer that takes longer is none. */
const callMs = 60_000

/** `nightferry conformance`: the specification against a deployment, statement by statement. */
export async function conformance(cli: Cli, options: ConformanceOptions): Promise<ExitCode> {
  const { exchange } = readConfig(cli, options)
  const baseUrl = options.baseUrl ?? exchange.baseUrl
  const apiKey = options.apiKey ?? exchange.apiKey
  if (baseUrl === null) throw new UsageError('Name the service with --base-url, or with EXCHANGE_BASE_URL.')
  if (apiKey === null)
    throw new UsageError('Give the key in EXCHANGE_API_KEY, in the file EXCHANGE_API_KEY_FILE, or with --api-key.')
  checkAddress(baseUrl)
  const named = options.contract ?? exchange.contract
  const contractFile = named === null ? packagedConfig('contract.yaml') : resolve(cli.workingFolder, named)
  const year = options.year ?? cli.now().getUTCFullYear() - 10
  const administration = options.administration === true
  const writing = writingOf(options, year)
  const key = (given: string | undefined, variable: string, ofSandbox: string) =>
    given ?? cli.environment[variable] ?? (administration ? ofSandbox : null)

  for (const line of announcement(writing, administration, year)) printLine(cli.stderr, line)
  const result = await runConformance({
    baseUrl,
    apiKey,
    contract: loadContract(contractFile),
    openNames: readOpenNames(contractFile),
    writing,
    administration,
    year,
    fieldTypeId: options.fieldType ?? null,
    certifierKey: key(options.certifierKey, 'EXCHANGE_CERTIFIER_KEY', 'certifier-key'),
    siblingKey: key(options.siblingKey, 'EXCHANGE_SIBLING_KEY', 'sibling-key'),
    proxy: exchange.proxy,
    limits: { callMs, pollMs: options.poll, taskMs: options.taskLimit * 1000, totalMs: options.timeLimit * 1000 },
    signal: cli.signal,
    now: () => cli.now().getTime(),
    wait: (ms, signal) => delay(ms, undefined, { signal }),
    ...(cli.stderr.isTTY === true && { onCheck: (id, nth, of) => cli.stderr.write(`\r\u001b[2K${nth}/${of} ${id}`) }),
  })
  if (cli.stderr.isTTY === true) cli.stderr.write('\r\u001b[2K')
  if (options.json) printJson(cli.stdout, result)
  else printLine(cli.stdout, renderConformance(result, cli.stdout.columns ?? 160))
  return exitCodeOf(result)
}

/**
 * The configuration judges its own address; one from the command line has to pass the same. What may be credentials is
 * not repeated.
 */
function checkAddress(baseUrl: string): void {
  if (settings.shape.exchange.safeParse({ baseUrl }).success) return
  throw new UsageError('The base address is none that can be used: https, without credentials; http only on loopback.')
}

/** 1: something differs. 3: nothing does, but something was not observed. */
function exitCodeOf({ counts, nameCounts }: ConformanceResult): ExitCode {
  if (counts.differs + nameCounts.differs > 0) return exitCodes.failed
  return counts['not observed'] + nameCounts['not observed'] > 0 ? exitCodes.partial : exitCodes.well
}

function writingOf(options: ConformanceOptions, year: number): Writing | null {
  const { group, customIdentifier, identifier, company, fieldType } = options
  const given = [group, customIdentifier, identifier].filter((value) => value !== undefined).length
  if (given === 0 && company === undefined) return null
  if (group === undefined || customIdentifier === undefined || identifier === undefined) {
    throw new UsageError('Writing needs all of --group, --custom-identifier and --identifier: they name the one hotel.')
  }
  return {
    groupId: group,
    customIdentifierId: customIdentifier,
    identifier,
    companyId: company ?? null,
    fieldTypeId: fieldType ?? null,
    year,
  }
}

/** What the run will send, said before it sends anything. */
function announcement(writing: Writing | null, administration: boolean, year: number): string[] {
  const reading = 'Sends searches, some of which it cancels. They change no company; each leaves a task in the list.'
  const hotel = writing === null ? 'a hotel of the sandbox' : `the hotel ${writing.identifier}`
  const wrote = `Writes to ${hotel} and to no other: its mapping, answers and omissions of ${year}, calculator inputs of ${year} (blanked again), its switches for yearly calculation and publishing (left off), and one custom property value.`
  const sandbox =
    'Uses the sandbox: webhooks, an application, a standard, re-queued tasks, and its clock, which ends months ahead. Start a fresh one for this.'
  return [reading, ...(writing !== null || administration ? [wrote] : []), ...(administration ? [sandbox] : [])]
}

/** Columns that are never wrapped: an id, a verdict, and what stands between columns. */
const fixed = { id: 46, source: 7, verdict: 12, gaps: 6 }

/** Narrower than this, columns of words are of no use. */
const narrowest = 18

/**
 * The result for a person: a table of statements, a table of names, and a summary. `width`: columns of the terminal.
 */
function renderConformance(result: ConformanceResult, width: number): string {
  return [statements(result, width), '', nameTable(result, width), '', ...summary(result)].join('\n')
}

function statements({ entries }: ConformanceResult, width: number): string {
  const words = Math.max(2 * narrowest, width - fixed.id - fixed.verdict - fixed.gaps)
  const ruleWidth = Math.floor(words * 0.45)
  const rows: Cell[][] = []
  let heading = ''
  for (const { id, section, rule, seen, verdict } of entries) {
    if (section !== heading) rows.push([`▸ ${section}`, '', '', ''])
    heading = section
    rows.push(
      ...wrapped([id, rule, seen, shownVerdict(verdict)], [fixed.id, ruleWidth, words - ruleWidth, fixed.verdict]),
    )
  }
  return table(['section', 'rule', 'seen', 'verdict'], rows)
}

function nameTable({ names }: ConformanceResult, width: number): string {
  const words = Math.max(2 * narrowest, width - fixed.id - fixed.source - fixed.verdict - fixed.gaps - 2)
  const writtenWidth = Math.floor(words * 0.4)
  const widths = [fixed.id, fixed.source, writtenWidth, words - writtenWidth, fixed.verdict]
  const rows = names.flatMap(({ key, source, written, seen, verdict }) =>
    wrapped([key, source, written, seen, shownVerdict(verdict)], widths),
  )
  return table(['name of the contract', 'source', 'written', 'seen', 'verdict'], rows)
}

function shownVerdict(verdict: string): string {
  return verdict === 'differs' ? 'DIFFERS' : verdict
}

function summary({ entries, names, counts, nameCounts, sent, ms }: ConformanceResult): string[] {
  const line = (what: string, all: number, of: ConformanceResult['counts']) =>
    `${grouped(all)} ${what}: ${grouped(of.holds)} hold, ${grouped(of.differs)} differ, ${grouped(of['not observed'])} not observed`
  const calls = Object.values(sent).reduce((sum, count) => sum + count, 0)
  const differing = [...entries, ...names.map(({ key, ...name }) => ({ ...name, id: key }))].filter(
    ({ verdict }) => verdict === 'differs',
  )
  return [
    ...differing.map(({ id, seen }) => `differs  ${readable(id)}: ${readable(seen)}`),
    `${line('statements', entries.length, counts)}. ${line('names', names.length, nameCounts)}. ${counted(calls, 'call')} in ${duration(ms)}.`,
  ]
}

/** One row of texts as several, each as wide as its column at most. */
function wrapped(texts: readonly string[], widths: readonly number[]): Cell[][] {
  const cells = texts.map((text, column) => wrap(readable(text), widths[column] ?? narrowest))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''))
}
