import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consoleCalls } from '../../bench/console-calls.ts'
import { createDatabase, createPool, type Database } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { tracePartner } from '../../src/db/trace/trace-partner.ts'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { buildHttpServer } from '../../src/http/build-http-server.ts'
import type { HttpContext } from '../../src/http/route.ts'
import { allRoutes } from '../../src/http/routes/all-routes.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { inspectedLogger } from '../helpers/leaks.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, packagedContract, startWorld, type World } from '../helpers/world.ts'

const token = 'act-token-of-the-statements'
const hotels = 8

let world: World
let pool: pg.Pool
let db: Database
let server: FastifyInstance
let statements: string[] = []

beforeAll(async () => {
  world = await startWorld({ hotels, migrated: true })
  await using folder = await workingFolder()
  const night = () => nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], world.environment())
  expect((await night()).code).toBe(0)
  await applySecondNight(world.partnerPool, { hotels, seed: 7, asOf: new Date() })
  await night()
  pool = createPool(world.databaseUrl, {
    max: 2,
    applicationName: 'tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      const [first] = given
      statements.push(typeof first === 'string' ? first : (first as { text: string }).text)
      return query(...given)
    }) as typeof client.query
  })
  db = createDatabase(pool)
  const config = world.config()
  Object.assign(config.http, { token })
  const deps = {
    config,
    db,
    pool,
    contract: loadContract(packagedContract),
    logger: inspectedLogger(),
    now: () => new Date(),
  }
  const context = { deps, db, asks: { settings: () => [] }, conceal: (text: string) => text }
  server = buildHttpServer(
    context as unknown as HttpContext,
    config.http,
    allRoutes(() => ({})),
  )
})
afterAll(async () => {
  await server?.close()
  await pool?.end()
  await world?.[Symbol.asyncDispose]()
})

/** Statements whose rows are few by what they are about, and that need no limit. */
const bounded: [RegExp, string][] = [
  [/^(begin|commit|rollback|start transaction|set |select set_config)/i, 'no rows'],
  [/^select (count|min|max|sum|coalesce)\([^)]*\)[^,]* from /i, 'one sum'],
  [/from "?guard_plan"?/i, 'one row for each stream'],
  [/from "?job_pause"?/i, 'one row for each job'],
  [/distinct on \(job\)/i, 'one row for each job'],
  [/from unnest\(\$\d+::text\[\]\) as judged/i, 'one row for each job'],
  [/from "?batch_size"?/i, 'one row for each kind of request'],
  [/from "?reference_withheld"?/i, 'one row'],
  [/from "?webhook_receiver"?/i, 'one row'],
  [/group by stream/i, 'one row for each stream'],
  [/from mapping left join companies/i, 'one hotel'],
  [/from \( select \*, .* from run where .* limit \$\d+ \) newest left join lateral \( select sum/, 'so many nights'],
  [/^select run\.\*, .* where run_id = \$1 group by run\.run_id$/, 'one run'],
  [/^select count\(\*\) as pages, /, 'one sum'],
  [
    /from \( select \* from service_key order by used_at > clock_timestamp\(\), used_at desc limit 1\)/,
    'the key in use',
  ],
]

/**
 * Whether a statement can answer any number of rows. What stands in brackets, such as a part that sums, does not count.
 */
function isUnbounded(sql: string): boolean {
  const flat = sql.replaceAll(/\s+/g, ' ').trim()
  let outside = flat
  while (/\([^()]*\)/.test(outside)) outside = outside.replaceAll(/\([^()]*\)/g, '')
  return /\bfrom\b/i.test(outside) && !/\blimit\b/i.test(outside) && !bounded.some(([pattern]) => pattern.test(flat))
}

describe('a statement behind a page of the console', () => {
  const asked = { hotel: 'H-0001', run: 2, variable: '', year: new Date().getUTCFullYear() - 1 }
  // A plan works as a run does, on copies of its own.
  const soon = consoleCalls.filter(({ answers, path }) => answers === 'soon' && path !== '/v1/plan')

  it.each(soon.map(({ method, path }) => ({ method, path })))('has a limit: $method $path', async (call) => {
    const { rows } = await pool.query<{ id: string }>('select variable_id as id from calculator_variable limit 1')
    const [{ id: variable } = { id: '' }] = rows
    const { urls, body } = soon.find(({ method, path }) => method === call.method && path === call.path) ?? {
      urls: () => [],
    }
    statements = []
    for (const url of some(urls({ ...asked, variable }))) {
      const answer = await server.inject({
        url,
        method: call.method,
        headers: { host: '127.0.0.1', authorization: `Bearer ${token}` },
        ...(body !== undefined && { payload: body }),
      })
      expect([200, 202, 409], answer.body).toContain(answer.statusCode)
    }
    if (call.path !== '/v1/settings') expect(statements.length).toBeGreaterThan(0)
    expect(statements.filter(isUnbounded)).toEqual([])
  })

  it('a statement without a limit is found', () => {
    expect(isUnbounded('select * from source_row where partner_id = $1')).toBe(true)
    expect(isUnbounded('select (select max(x) from a limit 1) from source_row order by row_id')).toBe(true)
    expect(isUnbounded('select * from source_row order by row_id limit $1')).toBe(false)
  })
})

it('a trace with a limit says of each list how many more there are, and keeps what is not accepted', async () => {
  const { rows } = await pool.query<{ id: string }>(
    `select partner_id as id from ledger where stream = 'framework_answers' and outcome = 'rejected'`,
  )
  const id = rows[0]?.id ?? ''
  const whole = await tracePartner(db, id, {}, [])
  const some = await tracePartner(db, id, {}, [], 2)
  if (whole === null || some === null) throw new Error('the second night refuses a row')
  expect(whole.more).toEqual({ rows: 0, submissions: 0, differences: 0, row_differences: 0, actions: 0 })
  expect(some.rows).toHaveLength(2)
  expect(some.more.rows).toBe(whole.rows.length - 2)
  expect(some.rows.map(({ state }) => state)).toContain('rejected')
  expect(some.submissions).toEqual(whole.submissions.slice(-2))
  expect(some.more.submissions).toBe(whole.submissions.length - 2)
})
