import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import { createExchangeClient } from '../exchange/client.ts'
import { mirrorDeployment } from '../rehearsal/mirror/mirror-deployment.ts'
import { readableService } from '../rehearsal/mirror/mirror-search.ts'
import { type Cli, printLine } from './cli.ts'
import { readContract } from './read-config.ts'
import { readable } from './show/readable.ts'

/**
 * Writes a world file of the configured deployment, with the limits and the pace that a run has towards it.
 * @throws {ConfigError} without an address or a key; what `mirrorDeployment` throws.
 */
export async function mirrorWorld(
  cli: Cli,
  config: Config,
  file: string,
): Promise<{ companies: number; bytes: number; notSeen: string[] }> {
  const { baseUrl, apiKey } = config.exchange
  if (baseUrl === null || apiKey === null) {
    const message = 'is not set; a mirror is taken of the service that it names (EXCHANGE_BASE_URL, EXCHANGE_API_KEY)'
    throw new ConfigError('Settings are missing:', [
      { path: baseUrl === null ? 'exchange.baseUrl' : 'exchange.apiKey', message },
    ])
  }
  const contract = readContract(cli, config)
  const client = createExchangeClient({ ...config.exchange, baseUrl, apiKey, contract, signal: cli.signal })
  try {
    return await mirrorDeployment(
      {
        service: readableService(client),
        contract,
        config,
        baseUrl,
        apiKey,
        signal: cli.signal,
        now: cli.now,
        wait: (ms) => delay(ms, undefined, { signal: cli.signal }),
        tell: (sentence) => printLine(cli.stderr, readable(`Mirror: ${sentence}`)),
      },
      file,
    )
  } finally {
    await client.close()
  }
}
