/**
 * What calculators cost in bytes and in time: node bench/table-sizes.ts [--calculators 100000,300000,1000000]
 *
 * Brings its own PostgreSQL and removes it. For each size it fills the tables under the views, prints bytes per row of
 * each table and its indexes, copies the values into an empty table as a load would, ends a search that misses one
 * company of a hundred, and asks the views what people ask. Memory is what the server process holds for itself
 * (RssAnon), seen 50 times a second; processor time is that process's, which a busy machine changes less than the time.
 */
import { readFile } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { sql, type Transaction } from 'kysely'
import pg from 'pg'
import { streamNames } from '../src/config/known-names.ts'
import { createDatabase, createPool } from '../src/db/database.ts'
import { migrateToLatest, schemaName } from '../src/db/migrate-to-latest.ts'
import type { Schema } from '../src/db/tables/database-schema.ts'
import { judgeInputs, stageInputs } from '../src/pipeline/compare/compare-inputs.ts'
import { storeDifferences } from '../src/pipeline/compare/input-differences.ts'
import { finishSearch } from '../src/pipeline/pull/search/whole-search.ts'
import { fillTables } from './fill-tables.ts'
import { Opened } from './opened.ts'

const { values } = parseArgs({ options: { calculators: { type: 'string', default: '100000' } } })
const sizes = values.calculators.split(',').map(Number)

/** What people ask, with the company, calculator or variable that is asked for the same in every size. */
const questions: Record<string, string> = {
  'one hotel, a year by month': `select period_month, variable_name, value from calculator_values join companies using (company_id)
    where partner_id = 'H-0000077' and period_year = 2025 and direction = 'output' order by variable_name, period_month`,
  'one calculator': `select * from calculator_values where calculator_id = md5('calculator 77/3')::uuid`,
  'ten highest of one variable': `select name, partner_id, value_numeric from calculator_values join companies using (company_id)
    where direction = 'output' and variable_name = 'Total (kg CO2e)' and period_month is null
    order by value_numeric desc nulls last limit 10`,
  'sum of one variable per company': `select company_id, period_year, sum(value_numeric) from calculator_values
    where direction = 'output' and variable_name = 'Total (kg CO2e)' and period_month is not null group by 1, 2`,
  'values that are no numbers':
    'select variable_name, value, count(*) from calculator_values where value_numeric is null group by 1, 2',
  'changed in the last hour': `select count(*) from calculators where changed_at > now() - interval '1 hour'`,
  'all values, counted': 'select count(*) from calculator_values',
}

await using opened = new Opened()
const cluster = await opened.server(await opened.folder('sizes'))
process.stdout.write(
  `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, the embedded server as it comes\n`,
)
for (const calculators of sizes) await measure(calculators)

async function measure(calculators: number): Promise<void> {
  const name = `size_${calculators}`
  await cluster.ensureDatabase(name)
  await migrateToLatest(cluster.url(name))
  const pool = createPool(cluster.url(name), {
    max: 2,
    applicationName: 'bench',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  try {
    const filling = await timed(() => fillTables(pool, { calculators, ledger: true }))
    say(`\n## ${calculators.toLocaleString('en')} calculators, filled in ${seconds(filling.ms)}\n`)
    await printSizes(pool, calculators)
    await printTimes(cluster.url(name), pool)
  } finally {
    await pool.end()
  }
  await cluster.dropDatabase(name)
}

async function printSizes(pool: pg.Pool, calculators: number): Promise<void> {
  const { rows } = await pool.query<{ name: string; rows: number; heap: number; indexes: number }>(
    `select relname as name, reltuples::bigint as rows, pg_table_size(oid) as heap, pg_indexes_size(oid) as indexes
     from pg_class where relnamespace = $1::regnamespace and relkind = 'r' and reltuples >= 1000 order by pg_total_relation_size(oid) desc`,
    [schemaName],
  )
  say(
    '| table | rows | heap | indexes | bytes per row | of it indexes | per calculator |\n| --- | --- | --- | --- | --- | --- | --- |',
  )
  let total = 0
  for (const { name, rows: count, heap, indexes } of rows) {
    total += heap + indexes
    const per = (bytes: number, of: number) => (bytes / of).toFixed(1)
    say(
      `| ${name} | ${count} | ${megabytes(heap)} | ${megabytes(indexes)} | ${per(heap + indexes, count)} | ${per(indexes, count)} | ${per(heap + indexes, calculators)} |`,
    )
  }
  say(`\nIn all ${megabytes(total)}, ${(total / calculators).toFixed(0)} bytes per calculator.\n`)
}

async function printTimes(url: string, pool: pg.Pool): Promise<void> {
  say('| what | time | processor time | peak memory |\n| --- | --- | --- | --- |')
  const report = (what: string, { ms, cpuMs, peak }: Spent) =>
    say(`| ${what} | ${seconds(ms)} | ${seconds(cpuMs)} | ${megabytes(peak)} |`)
  for (const [what, query] of Object.entries(questions)) {
    const runs: Spent[] = []
    for (let nth = 0; nth < 3; nth++) runs.push(await watched(url, async (client) => void (await client.query(query))))
    runs.sort((one, other) => one.ms - other.ms)
    report(what, runs[1] ?? { ms: 0, cpuMs: 0, peak: 0 })
  }
  report(
    'values copied into an empty table with its key',
    await watched(url, async (client) => {
      await client.query(`create table calculator_value_again (like calculator_value including all)`)
      await client.query(`insert into calculator_value_again select * from calculator_value`)
      await client.query(`drop table calculator_value_again`)
    }),
  )
  const search = await layDownSearch(pool)
  report(
    'a search ended: one company of a hundred is gone',
    await undone(url, async (trx) => {
      const { companies } = await finishSearch(trx, search.id)
      if (companies === 0) throw new Error('nothing was gone')
    }),
  )
  report(
    'what was sent compared with what came back',
    await undone(url, async (trx) => {
      const proven = { submissionId: search.id, calculatorTypeIds: [] }
      await stageInputs(trx, proven, streamNames)
      await judgeInputs(trx, proven)
      await storeDifferences(trx, search.run, search.id)
      const { rows } = await sql<{ found: number }>`select count(*) as found from input_difference`.execute(trx)
      if (Number(rows[0]?.found) === 0) throw new Error('nothing differed')
    }),
  )
}

/** What the pages of a search have shown: all but one company of a hundred. */
async function layDownSearch(pool: pg.Pool): Promise<{ id: number; run: number }> {
  const { rows } = await pool.query<{ id: number; run: number }>(
    `insert into submission (run_id, kind, state, row_count) select max(run_id), 'calculators_search', 'settled', 0 from run
     returning submission_id as id, run_id as run`,
  )
  const search = rows[0] ?? { id: 0, run: 0 }
  await pool.query(
    `insert into search_page (submission_id, ordinal, url, state, companies) values ($1, 0, 'https://pages.example', 'loaded', 1)`,
    [search.id],
  )
  await pool.query(
    'insert into search_seen_company (submission_id, company_key) select $1, company_key from company where company_key % 100 > 0',
    [search.id],
  )
  await pool.query(
    'insert into search_seen_calculator (submission_id, calculator_key) select $1, calculator_key from calculator where company_key % 100 > 0',
    [search.id],
  )
  await pool.query('vacuum analyze search_seen_company, search_seen_calculator')
  const { rows: seen } = await pool.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(t))::bigint as bytes from unnest(array['search_seen_company', 'search_seen_calculator']::regclass[]) t`,
  )
  say(`| what a search in progress has shown, on disk | | | ${megabytes(seen[0]?.bytes ?? 0)} |`)
  return search
}

/** Does something in a transaction on a connection of its own, and takes it back. */
async function undone(url: string, work: (trx: Transaction<Schema>) => Promise<void>): Promise<Spent> {
  const end = new Error('taken back')
  return await watched(url, async (client) => {
    const one = { connect: async () => Object.assign(client, { release: () => {} }), end: async () => {} }
    const db = createDatabase(one as unknown as pg.Pool)
    await db
      .transaction()
      .execute(async (trx) => {
        await work(trx)
        throw end
      })
      .catch((error: unknown) => {
        if (error !== end) throw error
      })
  })
}

type Spent = { ms: number; cpuMs: number; peak: number }

/** Runs something on a connection of its own, and looks at what its server process holds for itself meanwhile. */
async function watched(url: string, work: (client: pg.Client) => Promise<void>): Promise<Spent> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schemaName}` })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    let peak = 0
    const look = async () => {
      const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8').catch(() => '')
      peak = Math.max(peak, 1024 * Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0))
    }
    const timer = setInterval(() => void look(), 20)
    const before = await processorMs(rows[0]?.pid)
    const spent = await timed(() => work(client)).finally(() => clearInterval(timer))
    await look()
    return { ...spent, cpuMs: (await processorMs(rows[0]?.pid)) - before, peak }
  } finally {
    await client.end()
  }
}

/** Processor time of a process so far; the system counts it in hundredths of a second. */
async function processorMs(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const [user = '0', system = '0'] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return 10 * (Number(user) + Number(system))
}

async function timed(work: () => Promise<void>): Promise<{ ms: number }> {
  const started = performance.now()
  await work()
  return { ms: performance.now() - started }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(1)} s`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
