import { fileURLToPath } from 'node:url'
import { createExchangeClient, type ExchangeClient, type ExchangeClientOptions } from '../../src/exchange/client.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { canaries } from '../helpers/canaries.ts'
import { inspectedLogger } from '../helpers/leaks.ts'

export const contract = loadContract(fileURLToPath(new URL('../../config/contract.yaml', import.meta.url)))

export const apiKey: string = canaries.apiKey

export type TestClient = ExchangeClient & AsyncDisposable & { waits: number[] }

/** A client with short time-outs, whose waits before retries are recorded instead of waited. */
export function testClient(baseUrl: string, options: Partial<ExchangeClientOptions> = {}): TestClient {
  const waits: number[] = []
  const client = createExchangeClient({
    baseUrl,
    apiKey,
    contract,
    concurrency: 4,
    requestsPerSecond: 1000,
    connectTimeoutMs: 2000,
    headersTimeoutMs: 300,
    bodyTimeoutMs: 300,
    maxAnswerBytes: 1_000_000,
    logger: inspectedLogger(),
    random: () => 0.5,
    wait: async (ms) => {
      waits.push(ms)
    },
    ...options,
  })
  return { ...client, waits, [Symbol.asyncDispose]: () => client.close() }
}

/** What a promise rejects with, and a failure when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => null,
    (error: unknown) => error,
  )
  if (outcome instanceof Error) return outcome
  throw new Error('it did not reject with an error')
}
