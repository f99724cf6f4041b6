import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { buildHttpServer } from '../../src/http/build-http-server.ts'
import type { HttpContext } from '../../src/http/route.ts'
import { allRoutes } from '../../src/http/routes/all-routes.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { packagedContract, type World } from '../helpers/world.ts'

const token = 'act-token-of-the-tests-0123456789'

/** The routes over a world, in this process: no daemon and no queue, so no route that starts a run. */
export type ReadingApi = AsyncDisposable & {
  /** The text of an answer, as it goes out. */
  text(path: string): Promise<string>
  /** An answer of any status. With a body it is a POST. */
  answer(path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>
}

/** @param change of the configuration of the world. */
export function readingApi(world: World, change: (config: ReturnType<World['config']>) => void = () => {}): ReadingApi {
  const pool = createPool(world.databaseUrl, {
    max: 2,
    applicationName: 'tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const db = createDatabase(pool)
  const config = world.config()
  Object.assign(config.http, { token })
  change(config)
  const contract = loadContract(packagedContract)
  const deps = { config, db, pool, contract, logger: inspectedLogger(), now: () => new Date() }
  const context = { deps, db, asks: { settings: () => [] }, conceal: (text: string) => text }
  const routes = allRoutes(() => ({}))
  const server = buildHttpServer(context as unknown as HttpContext, config.http, routes)
  return {
    text: async (path) => {
      const answer = await server.inject({ path, headers: { authorization: `Bearer ${token}` } })
      if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${answer.body}`)
      return answer.body
    },
    answer: async (path, body) => {
      const answer = await server.inject({
        path,
        headers: { authorization: `Bearer ${token}` },
        ...(body !== undefined && { method: 'POST', payload: body }),
      })
      return { status: answer.statusCode, body: answer.json() }
    },
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await pool.end()
    },
  }
}
