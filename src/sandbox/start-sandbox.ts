import type { AddressInfo } from 'node:net'
import pg from 'pg'
import type { Contract } from '../exchange/contract.ts'
import { createChaos } from './chaos/chaos.ts'
import { type SandboxClock, systemClock } from './clock.ts'
import { type DurationSettings, durationsWith } from './durations.ts'
import { type SandboxLogger, silentLogger } from './logger.ts'
import { processTask } from './processing/process-task.ts'
import type { Sandbox } from './sandbox.ts'
import { createSchema } from './schema/create-schema.ts'
import { seedWorld } from './seed-world.ts'
import { buildServer } from './server/build-server.ts'
import { type Dispatcher, startDispatcher } from './tasks/dispatcher.ts'

export type SandboxOptions = {
  /** A Postgres database, in whose schema `sandbox` everything is kept. One running sandbox per database. */
  databaseUrl: string
  contract: Contract
  /** 0: any free port. */
  port: number
  host?: string
  /** An integer that decides which hotels there are and how long tasks take. */
  seed: number
  /** The service knows the hotels 1 to this number, but for those that it does not know on purpose. */
  companies: number
  durations?: DurationSettings
  /** Tasks processed at once. */
  workers?: number
  /** Companies on a page of a search. */
  pageSize?: number
  /** Trouble from the start: names of profiles, each with the share of occasions that it strikes, above 0 up to 1. */
  chaos?: ReadonlyMap<string, number>
  logger?: SandboxLogger
  clock?: SandboxClock
}

/**
 * Starts the Bulk Data Exchange Service, as its specification describes it, on an address of its own. A database that
 * an earlier start seeded keeps its state; tasks that were in process are taken up again.
 * @throws {SeedMismatch} when the database holds the world of another seed.
 */
export async function startSandbox(options: SandboxOptions): Promise<{ url: string; close(): Promise<void> }> {
  const { seed, companies, workers = 4, host = '127.0.0.1', logger = silentLogger, clock = systemClock } = options
  // Each worker holds two clients at most (a search reads one snapshot and writes files); the rest answer requests.
  const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 2 * workers + 6 })
  pool.on('error', (error) => logger.warn({ err: error }, 'sandbox_database_connection_lost'))
  let dispatcher: Dispatcher | undefined
  let origin = ''
  try {
    await createSchema(pool)
    await seedWorld(pool, { seed, hotels: companies })
    const counted = await pool.query<{ known: number }>('select count(*)::int as known from sandbox.company')
    const sandbox: Sandbox = {
      pool,
      contract: options.contract,
      clock,
      logger,
      seed,
      chaos: createChaos(seed, options.chaos),
      knownCompanies: counted.rows[0]?.known ?? 0,
      pageSize: options.pageSize ?? 1000,
      fileUrl: (token) => `${origin}/files/${token}`,
    }
    const server = buildServer(sandbox, { onQueued: () => dispatcher?.wake() })
    await server.listen({ port: options.port, host })
    origin = `http://${host.includes(':') ? `[${host}]` : host}:${(server.server.address() as AddressInfo).port}`
    dispatcher = startDispatcher(sandbox, {
      workers,
      durations: durationsWith(options.durations),
      process: (task, signal) => processTask(sandbox, task, signal),
    })
    logger.info({ url: origin, seed, companies: sandbox.knownCompanies }, 'sandbox_started')
    return {
      url: origin,
      close: async () => {
        await server.close()
        await dispatcher?.stop()
        await pool.end()
      },
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}
