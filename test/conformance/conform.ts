import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readOpenNames } from '../../src/conformance/names/open-names.ts'
import {
  type ConformanceOptions,
  type ConformanceResult,
  runConformance,
} from '../../src/conformance/run-conformance.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { hotelAt } from '../../src/sandbox/hotels.ts'
import { type RunningSandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { canaries, canaryKeys } from '../helpers/canaries.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { testDatabase } from '../helpers/postgres.ts'

const contractFile = join(import.meta.dirname, '../../config/contract.yaml')
export const contract = loadContract(contractFile)
export const openNames = readOpenNames(contractFile)
export const seed = 7

/**
 * A sandbox of its own, on a database of its own, at its usual pace, with pages so small that searches have several.
 */
export async function openService(
  options: Partial<SandboxOptions> = {},
): Promise<RunningSandbox & AsyncDisposable & { databaseUrl: string }> {
  const database = await testDatabase({ template: 'empty' })
  const sandbox = await startSandbox({
    databaseUrl: database.url,
    contract,
    port: 0,
    seed,
    apiKeys: canaryKeys,
    logger: inspectedLogger(),
    companies: 60,
    pageSize: 8,
    ...options,
  })
  const close = async () => {
    await sandbox.close()
    await database[Symbol.asyncDispose]()
  }
  return { ...sandbox, close, [Symbol.asyncDispose]: close, databaseUrl: database.url }
}

/** Leave to write to the third hotel. */
export const writing = {
  groupId: catalogue.groupId,
  customIdentifierId: catalogue.customIdentifierId,
  identifier: hotelAt(seed, 3).partnerId,
  companyId: null,
  fieldTypeId: null,
  year: 2015,
}

/** Runs the suite against a service, quickly. */
export function conform(baseUrl: string, options: Partial<ConformanceOptions> = {}): Promise<ConformanceResult> {
  return runConformance({
    baseUrl,
    apiKey: canaries.apiKey,
    contract,
    openNames,
    writing: null,
    administration: false,
    year: 2015,
    fieldTypeId: null,
    certifierKey: null,
    siblingKey: null,
    limits: { callMs: 10_000, pollMs: 20, taskMs: 20_000, totalMs: 180_000 },
    signal: new AbortController().signal,
    now: Date.now,
    wait: (ms, signal) => delay(ms, undefined, { signal }),
    ...options,
  })
}

/** Statements or names that do not hold, with what was seen. */
export function notHolding<T extends { verdict: string; seen: string; id?: string; key?: string }>(
  results: readonly T[],
) {
  return results
    .filter(({ verdict }) => verdict !== 'holds')
    .map(({ id, key, verdict, seen }) => ({ id: id ?? key, verdict, seen }))
}

/** What a run must have taken down again. */
export async function leftBehind(url: string) {
  const read = async <T>(path: string) =>
    (await (await fetch(`${url}/sandbox/${path}`, { headers: { authorization: 'demo-key' } })).json()) as T
  const { profiles } = await read<{ profiles: { name: string; share: number | null }[] }>('chaos')
  const { timeWarp } = await read<{ timeWarp: number }>('clock')
  return {
    webhooks: await read<unknown[]>('webhooks'),
    chaos: profiles.filter(({ share }) => share !== null),
    timeWarp,
  }
}
