import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { createDatabase, createPool, type Database } from '../../../src/db/database.ts'
import { schemaName } from '../../../src/db/migrate-to-latest.ts'
import type { ExchangeClientOptions } from '../../../src/exchange/client.ts'
import { createSharedGate, keyFingerprint, type SharedGate } from '../../../src/pipeline/gate/shared-gate.ts'
import { type TestClient, testClient } from '../../exchange/test-client.ts'
import { canaries } from '../../helpers/canaries.ts'
import { inspect } from '../../helpers/leaks.ts'

export type Gated = { client: TestClient; gate: SharedGate; events: string[]; statements: () => number }

export type GatedOptions = {
  databaseUrl: string
  serviceUrl: string
  apiKey?: string
  requestsPerSecond?: number
  probeIntervalMs?: number
  probeAtOnce?: boolean
  client?: Partial<ExchangeClientOptions>
}

const infoLevel = 30

/** A pool on a migrated database, of the test's own. */
function poolOf(url: string) {
  return createPool(url, {
    max: 2,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
    connectTimeoutMs: 2_000,
  })
}

export function databaseOf(url: string): Database {
  const pool = poolOf(url)
  onTestFinished(() => pool.end())
  return createDatabase(pool)
}

/** A client as one of several daemons has it: with a pool of its own on the database that all share. */
export function gated(options: GatedOptions): Gated {
  const { apiKey = canaries.apiKey, requestsPerSecond = 1000, probeIntervalMs = 60_000, probeAtOnce = false } = options
  const pool = poolOf(options.databaseUrl)
  let statements = 0
  pool.on('acquire', () => {
    statements += 1
  })
  const events: string[] = []
  const write = (line: string) => {
    inspect('the logger of a gate', line)
    const { level, msg } = JSON.parse(line) as { level: number; msg: string }
    if (level >= infoLevel) events.push(msg)
  }
  const logger = pino({ level: 'trace' }, { write })
  const gate = createSharedGate({
    db: createDatabase(pool),
    fingerprint: keyFingerprint(apiKey, options.serviceUrl),
    requestsPerSecond: () => requestsPerSecond,
    probeIntervalMs,
    probeAtOnce,
    logger,
  })
  const client = testClient(options.serviceUrl, {
    apiKey,
    requestsPerSecond,
    gate,
    headersTimeoutMs: 5_000,
    logger,
    ...options.client,
  })
  onTestFinished(async () => {
    await client.close()
    await pool.end()
  })
  return { client, gate, events, statements: () => statements }
}
