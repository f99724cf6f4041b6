import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { createExchangeClient } from '../exchange/client.ts'
import { HttpError, TransportError } from '../exchange/errors.ts'
import type { Deps } from '../pipeline/deps.ts'
import {
  configuredDestination,
  type DestinationChange,
  destinationChange,
  isUnaskedKey,
  whatChanged,
} from '../pipeline/destination/check-destination.ts'
import { destinationInUse, wasKeyUsed } from '../pipeline/destination/find-destination.ts'
import type { Cli } from './cli.ts'
import { readContract } from './read-config.ts'

type Judged = {
  /** What the real run would stop over, for a person; null: nothing that can be known. */
  moved: string | null
  /** Nobody was asked whose the key is, which is new to the ledger. */
  unaskedKey: boolean
}

type ToJudge = {
  /** Where the configuration points to. */
  required: Deps['required']
  ledger: Database
  /** What is learned is noted there, as the run notes it in the ledger. */
  copy: Database
  /** Whether the service may be asked whose a new key is. */
  service: 'ask' | 'leave'
}

/**
 * Whether tonight's run would find that its destination is another than the one that the ledger was sent to.
 * A service that does not answer now is as one that is not to be asked.
 */
export async function judgeDestination(cli: Cli, config: Config, to: ToJudge): Promise<Judged> {
  const { required, ledger, copy, service } = to
  // The copy holds no keys of before destinations had names; the run knows them.
  const { fingerprint } = configuredDestination(to)
  if ((await destinationInUse(ledger)).origin === null && (await wasKeyUsed(ledger, fingerprint))) {
    return { moved: null, unaskedKey: false }
  }
  const { baseUrl, apiKey } = required
  const contract = readContract(cli, config)
  const exchange = createExchangeClient({ ...config.exchange, baseUrl, apiKey, contract, signal: cli.signal })
  const deps = { required, db: copy, exchange, logger: { info: () => {}, warn: () => {} } }
  try {
    return judged(await destinationChange(deps, service))
  } catch (error) {
    const passing = error instanceof TransportError || (error instanceof HttpError && error.status >= 429)
    if (!passing) throw error
    return judged(await destinationChange(deps, 'leave'))
  } finally {
    await exchange.close()
  }
}

function judged(change: DestinationChange | null): Judged {
  const unaskedKey = change !== null && isUnaskedKey(change)
  return { moved: change === null || unaskedKey ? null : whatChanged(change), unaskedKey }
}
