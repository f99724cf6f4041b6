import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { parse, stringify } from 'yaml'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { resourceFieldTypes, resourceOutputs, resourceRecord } from '../../src/sandbox/catalogue/resource-record.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import type { SandboxOptions } from '../../src/sandbox/start-options.ts'
import { startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { uuidFrom } from '../../src/sandbox/uuid-from.ts'
import { workingFolder } from '../cli/nightferry-process.ts'
import { canaries, canaryKeys } from './canaries.ts'
import { inspectedLogger } from './leaks.ts'
import { testDatabase } from './postgres.ts'
import { demoConfig, packagedContract } from './world.ts'

export type PullWorldOptions = {
  pages: number
  companiesPerPage: number
  settings?: Record<string, unknown>
  sandbox?: Partial<SandboxOptions>
}

/** Which version of its content the service has for the company of that place, from 0; null: it is not there. */
export type VersionOf = (place: number) => number | null

export type PullWorld = AsyncDisposable & {
  /** Folder to start processes in, the options that they need, and their environment. */
  folder: string
  options: readonly string[]
  environment: Record<string, string>
  sandboxUrl: string
  sandboxPool: pg.Pool
  /** Nightferry's own database, migrated. */
  pool: pg.Pool
  databaseUrl: string
  /** Ids of the service's companies in the order of its pages, while none is missing. */
  companyIds: readonly string[]
  /** Gives the companies that the service shows a version each: every part of a company tells which. */
  write(versionOf: VersionOf): Promise<void>
}

/** Calculators that a company has in a version: odd ones have one more, so that a new version adds or removes. */
export const calculatorsIn = (version: number) => 3 + (version % 2)
const inputs = resourceFieldTypes.map(({ id }) => id)
const outputs = resourceOutputs.map(({ id }) => id)
export const valuesPerCalculator = inputs.length + outputs.length

/** A service whose companies a test rewrites between two nights, and a Nightferry that has nothing to send there. */
export async function startPullWorld(options: PullWorldOptions): Promise<PullWorld> {
  const { pages, companiesPerPage } = options
  await using made = new AsyncDisposableStack()
  const open = async (searchPath: string) => {
    const template = searchPath === schemaName ? 'migrated' : 'empty'
    const database = made.use(await testDatabase({ template }))
    const pool = createPool(database.url, {
      max: 6,
      applicationName: 'nightferry tests',
      searchPath,
      onIdleError: () => {},
    })
    made.defer(() => pool.end())
    return { url: database.url, pool }
  }
  const own = await open(schemaName)
  const service = await open('sandbox')
  const wanted = pages * companiesPerPage
  const sandbox = await startSandbox({
    databaseUrl: service.url,
    contract: loadContract(packagedContract),
    port: 0,
    seed: 7,
    apiKeys: canaryKeys,
    logger: inspectedLogger(),
    // Every fiftieth hotel is none of the service's companies.
    companies: Math.ceil((wanted * 50) / 49) + 1,
    pageSize: companiesPerPage,
    durations: {
      pendingMs: 0,
      scheduledMs: 0,
      jitter: 0,
      processing: { calculatorsSearch: { baseMs: 0, perItemUs: 0 } },
    },
    ...options.sandbox,
  })
  made.defer(() => sandbox.close())
  const { rows } = await service.pool.query<{ id: string }>('select id from company order by number limit $1', [wanted])
  const companyIds = rows.map(({ id }) => id)
  const folder = made.use(await workingFolder())
  const file = join(folder.path, 'pull.yaml')
  await writeFile(file, stringify(pullConfig(options.settings ?? {})))

  const everything = made.move()
  return {
    folder: folder.path,
    options: ['--config', file],
    environment: {
      EXCHANGE_BASE_URL: sandbox.url,
      EXCHANGE_API_KEY: canaries.apiKey,
      DATABASE_URL: own.url,
      // Its one stream reads nothing, so any database will do.
      PARTNER_DATABASE_URL: own.url,
    },
    sandboxUrl: sandbox.url,
    sandboxPool: service.pool,
    pool: own.pool,
    databaseUrl: own.url,
    companyIds,
    write: (versionOf) => writeVersions(service.pool, companyIds, versionOf),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

/** The demo's configuration with one stream that reads nothing; `settings` by section on top. */
function pullConfig(settings: Record<string, unknown>): Record<string, unknown> {
  const demo = parse(readFileSync(demoConfig, 'utf8')) as Record<string, Record<string, unknown>>
  const query = `
    select null as partner_id, null as name, null as street, null as latitude, null as longitude, null as country_code,
           null as airport_code, null as hotel_code, null as booking_id, null::timestamptz as updated_at
    where false`
  const over = settings as Record<string, Record<string, unknown>>
  const section = (name: string, own: object = {}) => ({ ...demo[name], ...own, ...over[name] })
  return {
    exchange: section('exchange', { pollIntervalMs: 100 }),
    pull: section('pull', { customPropertyIds: [catalogue.roomsPropertyId] }),
    engine: section('engine'),
    streams: { properties: { query, cursor: 'updated_at', requires: [] } },
  }
}

async function writeVersions(pool: pg.Pool, companyIds: readonly string[], versionOf: VersionOf): Promise<void> {
  const shown = companyIds.flatMap((id, place) => {
    const version = versionOf(place)
    return version === null ? [] : [{ id, version }]
  })
  const ids = shown.map(({ id }) => id)
  const versions = shown.map(({ version }) => version)
  const calculators = shown.flatMap(({ id, version }) =>
    Array.from({ length: calculatorsIn(version) }, (_, month) => ({
      id: uuidFrom(`${id} ${month}`),
      companyId: id,
      month: month + 1,
      inputs: contentOf(inputs, version),
      outputs: contentOf(outputs, version),
    })),
  )
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('delete from group_company where group_id = $1', [catalogue.groupId])
    await client.query('insert into group_company select $1, unnest($2::uuid[])', [catalogue.groupId, ids])
    await client.query(
      `update company set name = 'Hotel ' || number || ', version ' || version
       from unnest($1::uuid[], $2::int[]) given(company_id, version) where id = company_id`,
      [ids, versions],
    )
    await client.query('delete from property_value')
    await client.query(
      'insert into property_value select $1, id, 1, version from unnest($2::uuid[], $3::text[]) given(id, version)',
      [catalogue.roomsPropertyId, ids, versions],
    )
    await client.query('delete from calculator')
    await client.query(
      `insert into calculator (id, company_id, type_id, year, month, inputs, summed, outputs)
       select id, company_id, $1, 2025, month, inputs, '{}', outputs
       from unnest($2::uuid[], $3::uuid[], $4::int[], $5::jsonb[], $6::jsonb[])
         given(id, company_id, month, inputs, outputs)`,
      [
        resourceRecord.id,
        calculators.map(({ id }) => id),
        calculators.map(({ companyId }) => companyId),
        calculators.map(({ month }) => month),
        calculators.map(({ inputs: content }) => content),
        calculators.map(({ outputs: content }) => content),
      ],
    )
    await client.query('commit')
  } finally {
    client.release()
  }
}

function contentOf(variables: readonly string[], version: number): string {
  return JSON.stringify(Object.fromEntries(variables.map((id) => [id, String(version)])))
}

/** What a reader finds of a company in one statement, through the views. */
export type Sample = {
  name: string
  here: boolean
  rooms: string[]
  calculators: number
  values: number
  contents: string[]
}

export const sampleColumns = `
  name, removed_at is null as here,
  array(select value from company_properties p where p.company_id = c.company_id order by ordinal) as rooms,
  (select count(*)::int from calculators k where k.company_id = c.company_id and k.removed_at is null) as calculators,
  (select count(*)::int from calculator_values v where v.company_id = c.company_id) as values,
  array(select distinct value from calculator_values v where v.company_id = c.company_id) as contents`

/** The one version that all parts of a company are of; null when it is torn. */
export function versionOf({ name, here, rooms, calculators, values, contents }: Sample): number | null {
  const version = Number(/, version (\d+)$/.exec(name)?.[1] ?? Number.NaN)
  const whole = here
    ? calculators === calculatorsIn(version) &&
      values === calculators * valuesPerCalculator &&
      same(contents, [String(version)]) &&
      same(rooms, [String(version)])
    : calculators === 0 && values === 0 && rooms.length === 0
  return whole ? version : null
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at])
}

/** How often each page of each search was asked for, in the order of the searches. */
export async function downloads(sandboxPool: pg.Pool): Promise<number[][]> {
  const { rows } = await sandboxPool.query<{ times: number[] }>(
    `select array_agg(asked order by ordinal)::int[] as times
     from (
       select task.sequence, file.ordinal,
              (select count(*) from request_log where path = '/files/' || file.token and phase = 'received') as asked
       from file join task on task.id = file.task_id
       where task.request = 'calculatorsSearch' and file.ordinal >= 0
     ) page
     group by sequence order by sequence`,
  )
  return rows.map(({ times }) => times)
}

/** Changes what the sandbox does wrong: names of profiles, each with its share. */
export async function trouble({ sandboxUrl }: PullWorld, profiles: Record<string, number>): Promise<void> {
  const answer = await fetch(`${sandboxUrl}/sandbox/chaos`, {
    method: 'PUT',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({ profiles }),
  })
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}: ${await answer.text()}`)
}
