import type pg from 'pg'
import type { Contract } from '../exchange/contract.ts'
import type { ApiKey } from './catalogue/accounts.ts'
import type { Chaos } from './chaos/chaos.ts'
import type { SandboxClock } from './clock.ts'
import type { FileAddresses } from './files/file-address.ts'
import type { SandboxLogger } from './logger.ts'
import type { World } from './service-world.ts'
import type { WebhookOutlet } from './webhooks/outlet.ts'

/** What every part of a running sandbox shares. */
export type Sandbox = {
  pool: pg.Pool
  contract: Contract
  clock: SandboxClock
  logger: SandboxLogger
  chaos: Chaos
  /** Which receivers webhooks may have, and how what is urgent gets to them. */
  webhooks: WebhookOutlet
  /** What there is at the service beside its companies. */
  world: World
  /** Every API key that may act, by its text. */
  apiKeys: ReadonlyMap<string, ApiKey>
  seed: number
  /** Companies that the service knows. */
  knownCompanies: number
  /** Companies on one page of a search. */
  pageSize: number
  /** Where the API is reached. */
  apiUrl: () => string
  /** A fresh address of a result file. */
  fileUrl: (token: string) => string
  /** Makes and judges such addresses. */
  files: FileAddresses
}

/** A pool or one of its clients, in a transaction or not. */
export type Queryable = Pick<pg.Pool, 'query'>

/** Runs `work` in one transaction on one client; what it did is undone when it throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = false
  const onError = () => {
    broken = true
  }
  client.on('error', onError)
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(onError)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}
