import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline/promises'
import { type Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { loadConfig } from '../config/load-config.ts'
import type { ExchangeClient } from '../exchange/client.ts'
import { loadContract } from '../exchange/contract.ts'
import { nameOf, type Said, suggestStreams } from '../init/suggest-streams.ts'
import { saidTables } from '../init/told-to-init.ts'
import { isReady } from '../init/written-config.ts'
import type { PartnerTable } from '../partner/examination.ts'
import { calculatorsPart, variableOf } from '../rehearsal/mirror/mirror-elements.ts'
import { readableService, runSearch } from '../rehearsal/mirror/mirror-search.ts'
import type { Cli } from './cli.ts'
import { packagedConfig } from './read-config.ts'
import { readable } from './show/readable.ts'

/**
 * What a person says of the tables: by flags, and of the hotels on a terminal where names do not tell their table.
 * @param prompter null where nobody can be asked.
 */
export async function askedTables(
  { table: tableFlags = [], column: columnFlags = [] }: { table?: string[]; column?: string[] },
  tables: readonly PartnerTable[],
  prompter: Pick<Prompter, 'choose'> | null,
): Promise<Said> {
  const said = saidTables(tableFlags, columnFlags, tables)
  if (prompter === null || said.properties !== undefined || tables.length === 0) return said
  const guessed = suggestStreams(tables, said).properties
  if (isReady(guessed)) return said
  const named = tables.map((one) => ({ name: nameOf(one), one }))
  const table = guessed?.table ?? (await prompter.choose('Which table has your hotels, one row for each?', named)).one
  const columnFor = async (what: string) =>
    (await prompter.choose(`Which column of ${nameOf(table)} is ${what}?`, table.columns)).name
  const columns: Record<string, string> = { partner_id: await columnFor('the id that you know a hotel by') }
  const found = { ...said, properties: { table, columns } }
  // A hotel needs something beside its id by which the service can find it.
  if (!isReady(suggestStreams(tables, found).properties)) columns.name = await columnFor('its name')
  return found
}

/** Asks a person. */
export type Prompter = {
  ask(question: string): Promise<string>
  /** The same, and what is typed is not shown. */
  askHidden(question: string): Promise<string>
  /** One of several, by its number. */
  choose<T extends { name: string }>(question: string, choices: readonly T[]): Promise<T>
  close(): void
}

type Terminal = {
  input: Readable
  output: Writable
  signal: AbortSignal
  /** Ctrl-C: the terminal gives the key to the program that reads from it, and sends no signal. */
  interrupt: () => void
}

/** Questions on a terminal, the answers read line by line. */
export function createPrompter({ input, output, signal, interrupt }: Terminal): Prompter {
  let hidden = false
  // The interface echoes what is typed: while a secret is asked for, nothing of that is passed on.
  const echo = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!hidden) output.write(chunk)
      done()
    },
  })
  const lines: Interface = createInterface({ input, output: echo, terminal: true })
  lines.on('SIGINT', interrupt)
  const ask = async (question: string) => {
    const answer = (await lines.question(`${question} `, { signal })).trim()
    return answer
  }
  return {
    ask,
    askHidden: async (question) => {
      output.write(`${question} (it is not shown) `)
      hidden = true
      try {
        return (await lines.question('', { signal })).trim()
      } finally {
        hidden = false
        output.write('\n')
      }
    },
    choose: async (question, choices) => {
      for (const [index, { name }] of choices.entries()) output.write(`  ${index + 1}  ${readable(name)}\n`)
      for (;;) {
        const chosen = choices[Number(await ask(readable(`${question} (1 to ${choices.length})`))) - 1]
        if (chosen !== undefined) return chosen
      }
    },
    close: () => lines.close(),
  }
}

/** A person waits for the task, which may wait for others. Milliseconds. */
const patienceMs = 600_000
const pollMs = 2_000

/**
 * The field types that inputs of the profile's calculators have, by name: from the pages of one calculators search,
 * because no reference endpoint lists them.
 * @returns none where the service refuses the search or shows no calculator; `say` tells why.
 */
export async function fieldTypesShown(
  cli: Cli,
  client: ExchangeClient,
  service: { baseUrl: string; apiKey: string },
  say: (words: string) => void,
): Promise<{ id: string; name: string }[]> {
  const contract = loadContract(packagedConfig('contract.yaml'))
  const { exchange, pull } = loadConfig({ file: null, environment: cli.environment })
  const { calculatorsSearch, calculatorsPage } = contract.names
  const names = new Map<string, string>()
  const inputs = new Set<string>()
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-init-'))
  try {
    say('Searching calculators for the names of field types …')
    const found = await runSearch(
      {
        ...service,
        service: readableService(client),
        contract,
        config: { exchange: { ...exchange, pollIntervalMs: pollMs, taskPatienceMs: patienceMs }, pull },
        signal: cli.signal,
        now: cli.now,
        wait: (ms) => delay(ms, undefined, { signal: cli.signal }),
        tell: () => {},
      },
      {
        search: 'calculatorsSearch',
        body: { [calculatorsSearch.customPropertyIds]: [], [calculatorsSearch.calculatorTypeIds]: [] },
        lists: new Map([
          [calculatorsPage.companies, 'company' as const],
          [calculatorsPage.calculatorVariables, 'variable' as const],
        ]),
        required: calculatorsPage.companies,
        folder,
      },
      async (kind, element) => {
        if (kind === 'variable') {
          const variable = variableOf(contract, element)
          if (variable !== null) names.set(variable.id, variable.name)
          return
        }
        for (const calculator of calculatorsPart(contract, element)?.calculators ?? []) {
          for (const id of Object.keys(calculator.inputs)) inputs.add(id)
        }
      },
    )
    if ('refused' in found) say(`The service does not answer a calculators search: ${found.refused}.`)
    else say(`The calculators of the profile show ${inputs.size} field types.`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return [...inputs].map((id) => ({ id, name: names.get(id) ?? id })).toSorted((a, b) => a.name.localeCompare(b.name))
}
