import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { loadConfig } from '../config/load-config.ts'
import type { ExchangeClient } from '../exchange/client.ts'
import { loadContract } from '../exchange/contract.ts'
import { calculatorsPart, variableOf } from '../rehearsal/mirror/mirror-elements.ts'
import { runSearch } from '../rehearsal/mirror/mirror-search.ts'
import { readableService } from '../rehearsal/mirror/mirror-service.ts'
import type { Cli } from './cli.ts'
import { packagedConfig } from './read-config.ts'

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
